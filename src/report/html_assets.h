/* html_assets.h - the fixed parts of the page. */
#ifndef ASC_HTML_ASSETS_H
#define ASC_HTML_ASSETS_H

extern const char *const asc_html_style[]; /* parts, ended by NULL */
extern const char asc_html_script[];

#endif
