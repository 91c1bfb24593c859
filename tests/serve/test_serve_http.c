/* test_serve_http.c - requests as bytes: what is well made is answered, what is not is refused by name, and
 * the server goes on. */
#include "serve_fixture.h"

#define HEAD "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

typedef struct raw_case {
    const char *name, *bytes;
    int status; /* of the first reply; 0: none */
    const char *words;
    bool half; /* then close the sending side */
} raw_case;

static const raw_case cases[] = {
    {"plain", "GET /healthz HTTP/1.1\r\n" HEAD "\r\n", 200, "\"status\":\"ok\"", false},
    {"1.0 without host", "GET /healthz HTTP/1.0\r\n\r\n", 200, "\"ok\"", false},
    {"1.1 without host", "GET /healthz HTTP/1.1\r\n\r\n", 400, NULL, false},
    {"two hosts", "GET /healthz HTTP/1.1\r\n" HEAD HEAD "\r\n", 400, "bad_host", false},
    {"another host", "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "wrong_host", false},
    {"host with a port", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:99\r\n\r\n", 200, NULL, false},
    {"host that is no host", "GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n", 421, NULL, false},
    {"no path", "GET /nothing HTTP/1.1\r\n" HEAD "\r\n", 404, "no_such_path", false},
    {"dots", "GET /t/part/..%2f..%2fetc.json HTTP/1.1\r\n" HEAD "\r\n", 404, NULL, false},
    {"a part", "GET /t/part/0af-9.json HTTP/1.1\r\n" HEAD "\r\n", 200, "0af-9", false},
    {"upper case", "GET /t/part/ABC.json HTTP/1.1\r\n" HEAD "\r\n", 404, NULL, false},
    {"NUL in the path", "GET /healthz%00x HTTP/1.1\r\n" HEAD "\r\n", 400, "bad_path", false},
    {"query", "GET /t/echo?q=a%20b&x=1 HTTP/1.1\r\n" HEAD "\r\n", 200, "q=a b", false},
    {"wrong method", "POST /healthz HTTP/1.1\r\n" HEAD "\r\n", 405, "Allow: GET, HEAD, OPTIONS", false},
    {"unknown method", "BREW /healthz HTTP/1.1\r\n" HEAD "\r\n", 405, NULL, false},
    {"options", "OPTIONS /t/echo HTTP/1.1\r\n" HEAD "\r\n", 204, "Allow: GET, HEAD, POST, OPTIONS", false},
    {"options of all", "OPTIONS * HTTP/1.1\r\n" HEAD "\r\n", 204, "Allow:", false},
    {"head", "HEAD /healthz HTTP/1.1\r\n" HEAD "\r\n", 200, "Content-Length: 57", false},
    {"no handler's reply", "GET /t/silent HTTP/1.1\r\n" HEAD "\r\n", 500, "no_reply", false},
    {"version 2", "GET /healthz HTTP/2.0\r\n" HEAD "\r\n", 505, NULL, false},
    {"version 0.9", "GET /healthz\r\n\r\n", 400, NULL, false},
    {"body", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 3\r\n\r\nabc", 200, "echo 3 294", false},
    {"no body", "POST /t/echo HTTP/1.1\r\n" HEAD "\r\n", 200, "echo 0 0", false},
    {"no type", "POST /t/echo HTTP/1.1\r\n" HEAD "Content-Length: 3\r\n\r\nabc", 415, "wrong_type", false},
    {"text type", "POST /t/echo HTTP/1.1\r\n" HEAD "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc",
     415, "wrong_type", false},
    {"form to the API",
     "POST /t/echo HTTP/1.1\r\n" HEAD
     "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b",
     415, "wrong_type", false},
    {"latin-1",
     "POST /t/echo HTTP/1.1\r\n" HEAD
     "Content-Type: application/json; charset=latin1\r\nContent-Length: 2\r\n\r\n{}",
     415, NULL, false},
    {"utf-8",
     "POST /t/echo HTTP/1.1\r\n" HEAD
     "Content-Type: application/json; charset=UTF-8\r\nContent-Length: 2\r\n\r\n{}",
     200, "echo 2", false},
    {"packed", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
     415, "packed_body", false},
    {"chunked",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON
     "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     200, "echo 5", false},
    {"chunk of no size",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", 400,
     NULL, false},
    {"chunk of a huge size",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n",
     413, NULL, false},
    {"unknown coding",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Transfer-Encoding: gzip\r\nConnection: close\r\n\r\n", 501, NULL,
     true},
    {"two lengths",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400, NULL, false},
    {"two lengths that differ",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 3\r\nContent-Length: 1\r\n\r\nabc", 400,
     "two_lengths", false},
    {"two codings",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON
     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
     400, "two_lengths", false},
    {"a space before the colon", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length : 3\r\n\r\n", 400,
     "bad_header", false},
    {"length that is no number", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 3x\r\n\r\nabc", 400,
     NULL, false},
    {"negative length", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: -3\r\n\r\nabc", 400, NULL,
     false},
    {"length beyond 64 bits",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 99999999999999999999\r\n\r\n", 413, NULL, false},
    {"far too long", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 1000000000000\r\n\r\nabc", 413,
     "body_too_large", false},
    {"truncated body", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 30\r\n\r\nabc", 0, NULL, true},
    {"truncated header", "GET /healthz HTTP/1.1\r\nHos", 0, NULL, true},
    {"nothing", "", 0, NULL, true},
    {"garbage", "\x16\x03\x01\x02\x00\x01\xfc\x03\x03 \r\n\r\n", 0, NULL, true},
    {"header without colon", "GET /healthz HTTP/1.1\r\n" HEAD "nonsense\r\n\r\n", 400, NULL, false},
    {"expect", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n", 100,
     NULL, false},
    {"expect in vain", "POST /t/echo HTTP/1.1\r\n" HEAD "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n",
     415, NULL, false},
    {"expect too much",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Expect: 100-continue\r\nContent-Length: 99999\r\n\r\n", 413, NULL,
     false},
    {"another site's post",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Origin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}", 403,
     "cross_site", false},
    {"no site's post", "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Origin: null\r\nContent-Length: 2\r\n\r\n{}",
     403, NULL, false},
    {"another port's post",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Origin: http://localhost:1\r\nContent-Length: 2\r\n\r\n{}", 403,
     NULL, false},
    {"own post",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Origin: http://localhost\r\nContent-Length: 2\r\n\r\n{}", 200,
     NULL, false},
    {"fetched from another site",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Sec-Fetch-Site: cross-site\r\nContent-Length: 2\r\n\r\n{}", 403,
     NULL, false},
    {"fetched from the same site",
     "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Sec-Fetch-Site: same-site\r\nContent-Length: 2\r\n\r\n{}", 403,
     NULL, false},
    {"cancelled from another site",
     "DELETE /v1/jobs/0123456789abcdef HTTP/1.1\r\n" HEAD "Origin: http://evil.example\r\n\r\n", 403, NULL,
     false},
    {"followed from another site", "GET /healthz HTTP/1.1\r\n" HEAD "Sec-Fetch-Site: cross-site\r\n\r\n", 200,
     NULL, false},
    {"own id", "GET /healthz HTTP/1.1\r\n" HEAD "X-Request-Id: 00000000deadbeef\r\n\r\n", 200,
     "X-Request-Id: 00000000deadbeef", false},
};

static void test_cases(void **state) {
    server *s = serve_test_start(&(serve_options){.max_body_bytes = 4096}),
           *hasty =
               serve_test_start(&(serve_options){.idle_seconds = 1}); /* for what waits for more to come */
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const raw_case *c = &cases[i];
        int fd = dial(c->half && c->status == 0 ? hasty : s);
        send_text(fd, c->bytes);
        if (c->half) shutdown(fd, SHUT_WR);
        char *reply = receive(fd, c->words != NULL ? c->words : "\r\n\r\n");
        close(fd);
        if (status_in(reply) != c->status)
            print_message("%s: status %d, not %d:\n%s\n", c->name, status_in(reply), c->status, reply), bad++;
        if (c->words != NULL && strstr(reply, c->words) == NULL)
            fail_msg("%s: no '%s' in:\n%s", c->name, c->words, reply);
        free(reply);
    }
    expect(ask(s, "GET /healthz", NULL), 200, "ok");
    server_stop(s);
    server_stop(hasty);
    assert_int_equal(bad, 0);
}

/* The name and the value that every reply has, of handlers and of refusals. */
static void test_headers(void **state) {
    server *s = serve_test_start(NULL);
    static const char *const asked[] = {"GET /healthz", "GET /nothing", "POST /healthz", "OPTIONS /healthz"};
    static const char *const wanted[] = {"X-Content-Type-Options: nosniff",
                                         "Referrer-Policy: same-origin",
                                         "X-Frame-Options: DENY",
                                         "Cache-Control: no-store",
                                         "Content-Security-Policy: default-src 'none'",
                                         "X-Request-Id: "};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char *reply = ask(s, asked[i], NULL);
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) expect_in(reply, wanted[k]);
        assert_null(strstr(reply, "unsafe-inline"));
        free(reply);
    }
    server_stop(s);
}

static void test_pipelined(void **state) {
    server *s = serve_test_start(NULL);
    int fd = dial(s), n = 0;
    (void)state;
    send_text(
        fd,
        "GET /t/echo?q=1 HTTP/1.1\r\n" HEAD "\r\nPOST /t/echo HTTP/1.1\r\n" HEAD JSON
        "Content-Length: 2\r\n\r\n{}POST /t/job HTTP/1.1\r\n" HEAD JSON
        "Content-Length: 34\r\n\r\n{\"chunks\":1, \"ms\":20, \"size\":  5 }GET /t/echo?q=4 HTTP/1.1\r\n" HEAD
        "\r\n");
    char *reply = receive(fd, "q=4");
    for (const char *at = reply; (at = strstr(at, "HTTP/1.1 200")) != NULL; at++) n++;
    if (n != 4) fail_msg("%d replies of 4:\n%s", n, reply);
    expect_in(reply, "q=1");
    expect_in(reply, "echo 2 248");
    expect_in(reply, "aaaaa");
    assert_true(strstr(reply, "q=1") < strstr(reply, "aaaaa") &&
                strstr(reply, "aaaaa") < strstr(reply, "q=4"));
    free(reply);
    close(fd);
    server_stop(s);
}

/* Of one connection there is: so much has come of its body, and so much is kept of all bodies. */
static bool has_received(const server *s, size_t received, size_t kept) {
    return s->conns != NULL && s->conns->received == received && s->body_bytes == kept;
}

/* After a refusal the same connection is good for the next request: the body was read, and thrown away. */
static void test_refused_and_on(void **state) {
    server *s = serve_test_start(&(serve_options){.max_body_bytes = 1000});
    char text[4096];
    int fd = dial(s);
    (void)state;
    int n = snprintf(text, sizeof text, "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 2000\r\n\r\n");
    memset(text + n, 'x', 2000);
    assert_true(send_bytes(fd, text, (size_t)n + 2000));
    char *reply = receive(fd, "request_id");
    assert_int_equal(status_in(reply), 413);
    free(reply);
    send_text(fd, "POST /nothing HTTP/1.1\r\n" HEAD JSON
                  "Content-Length: 3\r\n\r\nabcGET /t/echo?q=on HTTP/1.1\r\n" HEAD "\r\n");
    reply = receive(fd, "q=on");
    assert_int_equal(status_in(reply), 404);
    expect_in(reply, "q=on");
    free(reply);
    /* the same in chunks, which do not say beforehand */
    n = snprintf(text, sizeof text,
                 "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Transfer-Encoding: chunked\r\n\r\n7d0\r\n");
    memset(text + n, 'x', 2000);
    assert_true(send_bytes(fd, text, (size_t)n + 2000) && send_text(fd, "\r\n0\r\n\r\n"));
    reply = receive(fd, "request_id");
    assert_int_equal(status_in(reply), 413);
    free(reply);
    close(fd);
    /* of what is refused nothing is kept meanwhile */
    fd = dial(s);
    send_text(fd, "POST /nothing HTTP/1.1\r\n" HEAD JSON "Content-Length: 30\r\n\r\nabcdefghij");
    assert_true(wait_for(s, has_received, 10, 0));
    close(fd);
    /* and chunks without end are cut off */
    fd = dial(s);
    send_text(fd, "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Transfer-Encoding: chunked\r\n\r\n");
    memset(text, 'x', 2000);
    bool sent = true;
    for (int i = 0; i < 5000 && sent; i++)
        sent = send_text(fd, "7d0\r\n") && send_bytes(fd, text, 2000) && send_text(fd, "\r\n");
    assert_false(sent);
    close(fd);
    server_stop(s);
}

/* All bodies together may hold eight of the largest: what is only announced counts for nothing, or few slow
 * clients could keep everybody's bodies out.
 */
static void test_announced_only(void **state) {
    server *s = serve_test_start(NULL);
    size_t held = 0;
    int fd = dial(s);
    (void)state;
    send_text(fd, "POST /t/echo HTTP/1.1\r\n" HEAD JSON "Content-Length: 8000000\r\n\r\nabcdefghij");
    for (int i = 0; i < PATIENCE_MS / 20 && held == 0; i++) {
        sleep_ms(20);
        pthread_mutex_lock(&s->lock);
        held = s->body_bytes;
        pthread_mutex_unlock(&s->lock);
    }
    assert_in_range(held, 10, 65536);
    close(fd);
    server_stop(s);
}

static void test_headers_too_large(void **state) {
    server *s = serve_test_start(NULL);
    static char text[70000];
    (void)state;
    for (int kind = 0; kind < 2; kind++) { /* a long path, a long header */
        int n = snprintf(text, sizeof text,
                         kind == 0 ? "GET /" : "GET /healthz HTTP/1.1\r\n" HEAD "X-Long: "),
            fd = dial(s);
        memset(text + n, 'a', 66000);
        snprintf(text + n + 66000, sizeof text - (size_t)n - 66000, "%s\r\n\r\n",
                 kind == 0 ? " HTTP/1.1\r\n" HEAD : "");
        send_text(fd, text);
        char *reply = receive(fd, NULL);
        int status = status_in(reply);
        if (status != 414 && status != 431 && status != 0) fail_msg("status %d:\n%.300s", status, reply);
        free(reply);
        close(fd);
    }
    /* What fits into the library's memory is refused in our own words. */
    int m = snprintf(text, sizeof text, "GET /healthz HTTP/1.1\r\n" HEAD "X-Long: "), own = dial(s);
    memset(text + m, 'a', 35000);
    snprintf(text + m + 35000, 8, "\r\n\r\n");
    send_text(own, text);
    char *said = receive(own, "request_id");
    assert_int_equal(status_in(said), 431);
    expect_in(said, "headers_too_large");
    expect_in(said, "X-Content-Type-Options: nosniff");
    free(said);
    close(own);
    int n = snprintf(text, sizeof text, "GET /"), fd = dial(s);
    memset(text + n, 'a', 3000);
    snprintf(text + n + 3000, 100, " HTTP/1.1\r\n" HEAD "\r\n");
    send_text(fd, text);
    char *reply = receive(fd, "request_id");
    assert_int_equal(status_in(reply), 414);
    free(reply);
    close(fd);
    server_stop(s);
}

static void test_forms(void **state) {
    server *s = serve_test_start(NULL);
    static const struct {
        const char *type, *body, *words;
    } forms[] = {
        {"application/x-www-form-urlencoded", "a=x+y%26&b=%C3%A4", "a=x y& b=\xc3\xa4 c=none"},
        {"application/x-www-form-urlencoded", "a=1&a=2&c=", "a=1 b= c=some"},
        {"application/x-www-form-urlencoded", "a", "a= b= c=none"},
        {"application/x-www-form-urlencoded", "%zz=%&&&=&a=%", "b="},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nhallo\r\n--XX\r\nContent-Disposition: "
         "form-data; "
         "name=\"b\"; filename=\"f.png\"\r\nContent-Type: image/png\r\n\r\n12\r\n34\r\n--XX--\r\n",
         "a=hallo b=12\r\n34 c=none"},
        {"multipart/form-data; boundary=XX", "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nhal",
         "c=none"},
        {"multipart/form-data; boundary=XX", "no boundary at all", "a= b= c=none"},
        {"multipart/form-data", "--XX\r\n", "a= b= c=none"},
        {"multipart/form-data; boundary=XX", "--XX\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XX--",
         "a= b="},
    };
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[1024];
        int fd = dial(s);
        snprintf(text, sizeof text,
                 "POST /t/form HTTP/1.1\r\n" HEAD "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                 forms[i].type, strlen(forms[i].body), forms[i].body);
        send_text(fd, text);
        char *reply = receive(fd, "c=");
        assert_int_equal(status_in(reply), 200);
        expect_in(reply, forms[i].words);
        free(reply);
        close(fd);
    }
    server_stop(s);
}

/* What a form said is shown in the page of an error, never obeyed; and so is what is no UTF-8, in JSON. */
static void test_hostile_words(void **state) {
    server *s = serve_test_start(NULL);
    char text[600];
    int fd = dial(s);
    const char *body = "a=<script>alert(1)</script>%22'%26\x1b%FF";
    (void)state;
    snprintf(text, sizeof text,
             "POST /t/fault HTTP/1.1\r\n" HEAD
             "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    send_text(fd, text);
    char *reply = receive(fd, "</html>");
    assert_int_equal(status_in(reply), 400);
    assert_null(strstr(reply, "<script"));
    expect_in(reply, "&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;&#38;");
    expect_in(reply, "script-src 'self'");
    free(reply);
    close(fd);
    serve_fault f;
    serve_fault_set(&f, 400, "bad", NULL, "\xff \"quoted\" \n </script>", NULL);
    char *json = fault_body(&f, false, "0123456789abcdef");
    json_t *doc = json_loads(json, 0, NULL);
    assert_non_null(doc);
    assert_string_equal(json_string_value(json_object_get(json_object_get(doc, "error"), "message")),
                        "? \"quoted\" \n </script>");
    json_decref(doc);
    free(json);
    server_stop(s);
}

static void test_token(void **state) {
    const char *token = "0123456789abcdef-token";
    server *s = serve_test_start(&(serve_options){.token = token});
    char head[400], cookie[200];
    (void)state;
    expect(ask(s, "GET /healthz", NULL), 200, NULL);
    expect(ask(s, "GET /t/echo", NULL), 401, "WWW-Authenticate: Bearer");
    expect(ask(s, "GET /t/echo HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef-tokem\r\nX-A:", NULL), 401,
           "wrong_token");
    expect(ask(s, "GET /t/echo HTTP/1.1\r\nAuthorization: Basic 0123456789abcdef-token\r\nX-A:", NULL), 401,
           "no_token");
    snprintf(head, sizeof head, "GET /t/echo HTTP/1.1\r\nAuthorization: bearer %s\r\nX-A:", token);
    expect(ask(s, head, NULL), 200, "echo");
    /* a browser's way: a form, then a cookie */
    snprintf(
        head, sizeof head,
        "POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n"
        "Host: localhost\r\nConnection: close\r\n\r\ntoken=%s",
        6 + strlen(token), token);
    int fd = dial(s);
    send_text(fd, head);
    char *reply = receive(fd, NULL);
    assert_int_equal(status_in(reply), 303);
    expect_in(reply, "HttpOnly; SameSite=Strict");
    assert_null(strstr(reply, token));
    snprintf(cookie, sizeof cookie, "%.72s", strstr(reply, "ascribe="));
    free(reply);
    close(fd);
    snprintf(head, sizeof head, "GET /t/echo HTTP/1.1\r\nCookie: %s\r\nX-A:", cookie);
    expect(ask(s, head, NULL), 200, "echo");
    cookie[20] = cookie[20] == 'a' ? 'b' : 'a';
    snprintf(head, sizeof head, "GET /t/echo HTTP/1.1\r\nCookie: %s\r\nX-A:", cookie);
    expect(ask(s, head, NULL), 401, NULL);
    server_stop(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),          cmocka_unit_test(test_headers),
        cmocka_unit_test(test_pipelined),      cmocka_unit_test(test_refused_and_on),
        cmocka_unit_test(test_announced_only), cmocka_unit_test(test_headers_too_large),
        cmocka_unit_test(test_forms),          cmocka_unit_test(test_token),
        cmocka_unit_test(test_hostile_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
