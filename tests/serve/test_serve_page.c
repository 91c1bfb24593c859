/* test_serve_page.c - the page: what its routes send, the form without scripts, what hostile fields become,
 * and the policies that go with it. */
#include "api_test.h"
#include "page.h"

#define MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"

static server *up(const char *token) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("ASC_TEST_DATA"), MODEL);
    return api_up(path, (serve_options){.token = token});
}

/* A form as browsers send it: fields is NAME=VALUE\0NAME=VALUE\0\0. */
static reply post_form(server *s, const char *more, const char *fields) {
    static const char edge[] = "----edge7";
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    char body[8192], head[1024];
    size_t n = 0;
    for (const char *f = fields; *f != '\0'; f += strlen(f) + 1) {
        const char *eq = strchr(f, '=');
        n += (size_t)snprintf(body + n, sizeof body - n,
                              "--%s\r\nContent-Disposition: form-data; name=\"%.*s\"\r\n\r\n%s\r\n", edge,
                              (int)(eq - f), f, eq + 1);
    }
    n += (size_t)snprintf(body + n, sizeof body - n, "--%s--\r\n", edge);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    const int h = snprintf(head, sizeof head,
                           "POST /ask HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n%s"
                           "Content-Type: multipart/form-data; boundary=%s\r\nContent-Length: %zu\r\n\r\n",
                           s->port, more, edge, n);
    assert_int_equal(write(fd, head, (size_t)h), h);
    assert_int_equal(write(fd, body, n), n);
    reply r = {0};
    r.head = read_all(fd, &r.len);
    close(fd);
    char *end = strstr(r.head, "\r\n\r\n");
    assert_non_null(end);
    end[2] = '\0';
    r.body = end + 4;
    r.status = atoi(r.head + 9);
    return r;
}

static void is(const reply *r, int status, const char *inside) {
    if (r->status != status || strstr(r->body, inside) == NULL)
        print_error("%d %.400s\n", r->status, r->body);
    assert_int_equal(r->status, status);
    assert_non_null(strstr(r->body, inside));
}

static void has_no(const reply *r, const char *inside) {
    if (strstr(r->body, inside) != NULL) print_error("%s in %.2000s\n", inside, r->body);
    assert_null(strstr(r->body, inside));
}

static void files(void **state) {
    (void)state;
    server *s = up(NULL);
    for (size_t i = 0; i < page_n_files; i++) {
        const page_file *f = &page_files[i];
        reply r = api_call(s, "GET", f->path, NULL);
        if (strstr(f->path, ".html") != NULL) { /* the frame is no page */
            assert_int_equal(r.status, 404);
        } else {
            assert_int_equal(r.status, 200);
            assert_int_equal(r.len, f->len);
            assert_memory_equal(r.body, f->bytes, f->len);
            assert_string_equal(reply_header(&r, "Content-Type"), f->type);
            assert_string_equal(reply_header(&r, "ETag"), f->etag);
            assert_string_equal(reply_header(&r, "X-Content-Type-Options"), "nosniff");
        }
        reply_free(&r);
    }
    reply r = api_call(s, "GET", "/page/none.js", NULL);
    assert_int_equal(r.status, 404);
    reply_free(&r);
    api_down(s);
}

static void index_page(void **state) {
    (void)state;
    server *s = up(NULL);
    reply r = api_call(s, "GET", "/", NULL);
    is(&r, 200, "data-kind=\"decoder\"");
    has_no(&r, "{{kind");
    has_no(&r, "{{fields");
    has_no(&r, "style=");
    has_no(&r, " onclick");
    const char *policy = reply_header(&r, "Content-Security-Policy");
    assert_non_null(strstr(policy, "default-src 'none'"));
    assert_null(strstr(policy, "unsafe"));
    /* every key that such a model knows and every method is in the form */
    const asc_question_key *k;
    size_t n = 0;
    for (size_t i = 0; (k = asc_question_key_at(i)) != NULL; i++) {
        char name[128];
        snprintf(name, sizeof name, "name=\"%s\"", k->name);
        if (page_key_known(k, ASC_SUBJECT_DECODER) && strstr(r.body, name) != NULL) n++;
    }
    assert_true(n >= 30);
    const asc_method_info *m;
    for (size_t i = 0; (m = asc_method_at(i)) != NULL; i++) {
        char option[128];
        snprintf(option, sizeof option, "<option>%s</option>", m->name);
        assert_int_equal(strstr(r.body, option) != NULL, asc_method_traits_at(i).prompts);
    }
    reply_free(&r);
    r = api_call(s, "GET", "/page/config.json", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(text_at(r.json, "kind"), "decoder");
    assert_string_equal(text_at(r.json, "default_method"), "feature-ablation");
    assert_true(json_is_null(at(r.json, "picture")));
    reply_free(&r);
    api_down(s);
}

/* The name of the model's file is somebody's text too. */
static void hostile_name(void **state) {
    (void)state;
    char folder[TEST_TMP], from[4096], to[4096];
    assert_non_null(mkdtemp(test_tmp_name(folder, "ascribe-page-XXXXXX")));
    snprintf(from, sizeof from, "%s/%s", getenv("ASC_TEST_DATA"), MODEL);
    snprintf(to, sizeof to, "%s/<img src=x onerror=alert(1)>\"'&.gguf", folder);
    assert_int_equal(symlink(from, to), 0);
    server *s = api_up(to, (serve_options){0});
    reply r = api_call(s, "GET", "/", NULL);
    is(&r, 200, "&#60;img src=x onerror=alert(1)&#62;&#34;&#39;&#38;.gguf");
    has_no(&r, "<img");
    reply_free(&r);
    api_down(s);
    unlink(to);
    rmdir(folder);
}

static void form(void **state) {
    (void)state;
    server *s = up(NULL);
    reply r = post_form(
        s, "", "ask-text=one two three\0ask-as=prompt\0target= four\0method=saliency\0features=token\0");
    is(&r, 200, "What drove the answer");
    is(&r, 200, "saliency over");
    assert_non_null(strstr(reply_header(&r, "Content-Security-Policy"), "sha256-"));
    reply_free(&r);
    r = post_form(s, "", "ask-text=one two\0ask-as=prompt\0target= four\0steps=many\0");
    is(&r, 400, "steps");
    is(&r, 400, "<html");
    reply_free(&r);
    r = post_form(s, "", "ask-text=\0");
    assert_int_equal(r.status, 400);
    reply_free(&r);
    r = post_form(s, "", "ask-text=a\xff\xfe\0ask-as=prompt\0");
    is(&r, 400, "UTF-8");
    reply_free(&r);
    api_down(s);
}

/* Nothing that somebody wrote becomes markup, in answers and in errors. */
static void hostile(void **state) {
    (void)state;
    server *s = up(NULL);
    reply r = post_form(s, "",
                        "ask-text=<script>alert(1)</script> \"'><img src=x onerror=alert(2)> "
                        "\xe2\x80\xaetxet\0ask-as=prompt\0target= <b>x</b>\0");
    is(&r, 200, "&lt;script&gt;alert(1)");
    has_no(&r, "<script>alert");
    has_no(&r, "<img");
    has_no(&r, "<b>x");
    has_no(&r, "\xe2\x80\xae");
    reply_free(&r);
    r = post_form(
        s, "", "ask-text=x\0ask-as=prompt\0target= y\0site=<img src=x onerror=alert(3)>\0method=saliency\0");
    assert_int_equal(r.status, 400);
    has_no(&r, "<img");
    reply_free(&r);
    r = post_form(s, "Origin: http://evil.example\r\n", "ask-text=x\0ask-as=prompt\0target= y\0");
    assert_int_equal(r.status, 403);
    reply_free(&r);
    api_down(s);
}

static void token(void **state) {
    (void)state;
    server *s = up("0123456789abcdef0123");
    reply r = api_call(s, "GET", "/", NULL);
    is(&r, 200, "name=\"token\"");
    has_no(&r, "gguf");
    reply_free(&r);
    r = api_call(s, "GET", "/page/config.json", NULL);
    assert_int_equal(r.status, 401);
    reply_free(&r);
    r = post_form(s, "", "ask-text=one two\0ask-as=prompt\0target= x\0token=0123456789abcdef0124\0");
    is(&r, 401, "token");
    reply_free(&r);
    r = post_form(s, "", "ask-text=one two\0ask-as=prompt\0target= x\0token=0123456789abcdef0123\0");
    is(&r, 200, "What drove the answer");
    reply_free(&r);
    r = api_call(s, "GET", "/r/0123456789abcdef", NULL);
    assert_int_equal(r.status, 401);
    reply_free(&r);
    api_down(s);
}

static void saved(void **state) {
    (void)state;
    server *s = up(NULL);
    char path[64];
    reply r = api_call(s, "POST", "/v1/explain",
                       "{\"prompt\": \"one two <script>\", \"target\": \" three\", \"save\": true}");
    assert_int_equal(r.status, 200);
    snprintf(path, sizeof path, "/r/%s", reply_header(&r, "X-Result-Id"));
    reply_free(&r);
    r = api_call(s, "GET", path, NULL);
    is(&r, 200, "What drove the answer");
    assert_non_null(strstr(r.head, "sandbox allow-scripts"));
    assert_non_null(strstr(r.head, "sha256-"));
    reply_free(&r);
    r = api_call(s, "GET", "/r/0123456789abcdef", NULL);
    is(&r, 404, "<html");
    reply_free(&r);
    api_down(s);
}

static void policies(void **state) {
    static const char *const pages[] = {
        "", "<html>", "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'",
        "<meta http-equiv=\"Content-Security-Policy\" content=\"x\r\nSet-Cookie: a=b\">"};
    char out[256];
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) { /* nothing to copy: the strictest */
        page_result_policy((asc_view){pages[i], strlen(pages[i])}, out, sizeof out);
        assert_string_equal(out, "default-src 'none'; sandbox allow-scripts; frame-ancestors 'none'");
    }
    const char *good =
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-x'\">";
    page_result_policy((asc_view){good, strlen(good)}, out, sizeof out);
    assert_string_equal(
        out, "default-src 'none'; script-src 'sha256-x'; sandbox allow-scripts; frame-ancestors 'none'");
    page_result_policy((asc_view){good, strlen(good)}, out, 80); /* no room: the strictest again */
    assert_string_equal(out, "default-src 'none'; sandbox allow-scripts; frame-ancestors 'none'");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files),        cmocka_unit_test(index_page),
                                       cmocka_unit_test(hostile_name), cmocka_unit_test(form),
                                       cmocka_unit_test(hostile),      cmocka_unit_test(token),
                                       cmocka_unit_test(saved),        cmocka_unit_test(policies)};
    return cmocka_run_group_tests_name("the page", tests, NULL, NULL);
}
