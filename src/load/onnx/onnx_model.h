/* onnx_model.h - an ONNX file as records: what onnx_parse*.c read and onnx_build.c put in order. Names and
 * data point into the file; tables live in the model's arena. Never changed once opened, but for what runs
 * remember (folded constants). */
#ifndef ASC_ONNX_MODEL_H
#define ASC_ONNX_MODEL_H

#include "alloc.h"
#include "ascribe/tensor.h"
#include "file.h"
#include "name_index.h"
#include "onnx_wire.h"

/* Limits, checked before anything is allocated for them. */
enum {
    ASC_ONNX_MAX_DEPTH = 16,        /* graphs within graphs, functions within functions */
    ASC_ONNX_MAX_NODES = 1 << 18,   /* of all graphs, functions counted at each call */
    ASC_ONNX_MAX_VALUES = 1 << 20,  /* names of one graph */
    ASC_ONNX_MAX_ATTRS = 256,       /* of a node */
    ASC_ONNX_MAX_NAME_BYTES = 4096, /* of anything */
    ASC_ONNX_MAX_EXTERNAL = 64,     /* data files beside a model */
    ASC_ONNX_MAX_IR = 12,
    ASC_ONNX_MAX_OPSET = 21 /* of the default domain; a later one is read, operators by their last known form
                             */
};
#define ASC_ONNX_MAX_ELEMS ((int64_t)1 << 33) /* of one tensor, read or computed */

/* TensorProto.DataType: X(ENUM, number, name, bytes; 0 = not numbers in whole bytes) */
#define ASC_ONNX_TYPE_TABLE(X)                                                                               \
    X(FLOAT, 1, "float", 4)                                                                                  \
    X(UINT8, 2, "uint8", 1)                                                                                  \
    X(INT8, 3, "int8", 1)                                                                                    \
    X(UINT16, 4, "uint16", 2)                                                                                \
    X(INT16, 5, "int16", 2)                                                                                  \
    X(INT32, 6, "int32", 4)                                                                                  \
    X(INT64, 7, "int64", 8)                                                                                  \
    X(STRING, 8, "string", 0)                                                                                \
    X(BOOL, 9, "bool", 1)                                                                                    \
    X(FLOAT16, 10, "float16", 2)                                                                             \
    X(DOUBLE, 11, "double", 8)                                                                               \
    X(UINT32, 12, "uint32", 4)                                                                               \
    X(UINT64, 13, "uint64", 8)                                                                               \
    X(COMPLEX64, 14, "complex64", 0)                                                                         \
    X(COMPLEX128, 15, "complex128", 0)                                                                       \
    X(BFLOAT16, 16, "bfloat16", 2)                                                                           \
    X(FLOAT8E4M3FN, 17, "float8e4m3fn", 0)                                                                   \
    X(FLOAT8E4M3FNUZ, 18, "float8e4m3fnuz", 0)                                                               \
    X(FLOAT8E5M2, 19, "float8e5m2", 0)                                                                       \
    X(FLOAT8E5M2FNUZ, 20, "float8e5m2fnuz", 0)                                                               \
    X(UINT4, 21, "uint4", 0)                                                                                 \
    X(INT4, 22, "int4", 0)

typedef enum asc_onnx_type {
    ASC_ONNX_UNDEFINED = 0,
#define ASC_ONNX_TYPE_ENUM(e, number, name, bytes) ASC_ONNX_##e = number,
    ASC_ONNX_TYPE_TABLE(ASC_ONNX_TYPE_ENUM)
#undef ASC_ONNX_TYPE_ENUM
} asc_onnx_type;
const char *asc_onnx_type_name(int type); /* "float"; "type 99" is named "unknown" */
size_t asc_onnx_type_bytes(int type);     /* 0 = strings, complex numbers, 8 and 4 bit floats, unknown */
bool asc_onnx_type_is_float(int type);    /* float, float16, bfloat16, double */

/* A TensorProto. data: row-major little-endian elements of `elem`, unaligned, checked against dims. */
typedef struct asc_onnx_tensor {
    asc_view name;
    int elem; /* asc_onnx_type */
    asc_shape shape;
    int64_t n; /* elements */
    const uint8_t *data;
    size_t bytes;
    const asc_view *strings; /* STRING: n of them */
} asc_onnx_tensor;

/* AttributeProto.AttributeType */
typedef enum asc_onnx_attr_type {
    ASC_ONNX_ATTR_UNDEFINED = 0,
    ASC_ONNX_ATTR_FLOAT = 1,
    ASC_ONNX_ATTR_INT = 2,
    ASC_ONNX_ATTR_STRING = 3,
    ASC_ONNX_ATTR_TENSOR = 4,
    ASC_ONNX_ATTR_GRAPH = 5,
    ASC_ONNX_ATTR_FLOATS = 6,
    ASC_ONNX_ATTR_INTS = 7,
    ASC_ONNX_ATTR_STRINGS = 8,
    ASC_ONNX_ATTR_TENSORS = 9,
    ASC_ONNX_ATTR_GRAPHS = 10,
    ASC_ONNX_ATTR_SPARSE = 11,
    ASC_ONNX_ATTR_TYPE = 13 /* a TypeProto (Optional, SequenceEmpty need none of it) */
} asc_onnx_attr_type;

typedef struct asc_onnx_attr {
    asc_view name;
    int type;
    asc_view ref; /* inside a function: the attribute of the calling node that it stands for */
    int64_t i;
    double f;
    asc_view s;
    const asc_onnx_tensor *t;
    struct asc_onnx_graph *g;
    size_t n; /* of the lists below */
    const double *floats;
    const int64_t *ints;
    const asc_view *strings;
} asc_onnx_attr;

/* Where a node's input comes from: `up` graphs further out, value `index` there; up -1 = left out. */
typedef struct asc_onnx_ref {
    int32_t up;
    uint32_t index;
} asc_onnx_ref;

typedef struct asc_onnx_node {
    asc_view name, op_type, domain;
    asc_view *in_name, *out_name;
    asc_onnx_ref *in;
    uint32_t *out; /* values of its graph; UINT32_MAX = left out */
    size_t n_in, n_out;
    asc_onnx_attr *attrs;
    size_t n_attrs;
    int opset;                       /* version of its domain */
    size_t index;                    /* position in the file's graph */
    const struct asc_onnx_op *op;    /* NULL when it calls a function */
    struct asc_onnx_graph *function; /* body of the call, attributes filled in */
    bool constant;                   /* the same in every run: depends on constants only */
    const char *label;               /* name of its first value, for recorded ops */
} asc_onnx_node;

/* An input or output of a graph. */
typedef struct asc_onnx_port {
    asc_view name;
    int elem; /* of the tensor, or of a sequence's tensors; 0 = not said */
    bool sequence, optional;
    bool has_shape;
    asc_shape shape; /* -1 = symbolic */
} asc_onnx_port;

/* A value of a graph: anything with a name. */
typedef struct asc_onnx_def {
    asc_view name;                 /* first, for the index */
    const asc_onnx_tensor *init;   /* initialiser */
    bool constant;                 /* initialiser, or made by a constant node */
    int64_t node;                  /* that makes it; -1 = none */
    int64_t port;                  /* input of the graph; -1 = none */
    struct asc_onnx_value *folded; /* constants that were computed already; of the net */
} asc_onnx_def;

typedef struct asc_onnx_graph {
    asc_view name;
    struct asc_onnx_graph *outer; /* names not found here are looked up there; NULL for main and functions */
    asc_onnx_node *nodes;         /* in an order in which each follows what it needs */
    size_t n_nodes;
    asc_onnx_tensor *inits;
    size_t n_inits;
    asc_onnx_port *inputs, *outputs; /* inputs: without those that are initialisers */
    size_t n_inputs, n_outputs;
    asc_onnx_ref *input_ref, *output_ref;
    asc_onnx_def *values;
    size_t n_values;
    asc_name_index index;
} asc_onnx_graph;

typedef struct asc_onnx_opset {
    asc_view domain;
    int version;
} asc_onnx_opset;

/* A FunctionProto; its nodes are read anew for every call. */
typedef struct asc_onnx_function {
    asc_view name, domain, overload;
    asc_wire body;
    asc_onnx_opset *opsets;
    size_t n_opsets;
} asc_onnx_function;

typedef struct asc_onnx_external {
    asc_view location;
    asc_map map;
} asc_onnx_external;

typedef struct asc_onnx_model {
    asc_ctx *ctx;
    char *file;   /* name for messages */
    char *folder; /* of external data; NULL: none may be read */
    asc_map map;
    const uint8_t *data;
    size_t size;
    asc_arena arena;
    int64_t ir_version;
    asc_view producer;
    asc_onnx_opset *opsets;
    size_t n_opsets;
    asc_onnx_function *functions;
    size_t n_functions;
    asc_onnx_graph *graph;
    size_t n_nodes; /* of all graphs read */
    int depth;      /* of graphs and functions being read */
    asc_onnx_external external[ASC_ONNX_MAX_EXTERNAL];
    size_t n_external;
} asc_onnx_model;

/* Reads a model; external data lies beside `path`. On failure *out is NULL. */
ASC_MUST_USE asc_status asc_onnx_model_open(asc_ctx *ctx, const char *path, asc_onnx_model **out);
/* The same for a file in memory, borrowed until close; external data is refused. */
ASC_MUST_USE asc_status asc_onnx_model_parse(asc_ctx *ctx, const void *data, size_t size,
                                             asc_onnx_model **out);
void asc_onnx_model_close(asc_onnx_model *m); /* NULL is accepted */

/* onnx_tensor.c. A TensorProto, checked: known type, dims >= 0, as many bytes as the shape says. */
ASC_MUST_USE asc_status asc_onnx_parse_tensor(asc_onnx_model *m, asc_wire w, asc_onnx_tensor *out);
/* Element i as a double (64-bit integers rounded above 2^53); not for strings. */
void asc_onnx_tensor_get(const asc_onnx_tensor *t, int64_t first, int64_t n, double *out);

/* onnx_graph.c: the records; onnx_build.c: names resolved, nodes sorted, operators found. */
ASC_MUST_USE asc_status asc_onnx_parse_graph(asc_onnx_model *m, asc_wire w, asc_onnx_graph **out);
ASC_MUST_USE asc_status asc_onnx_parse_nodes(asc_onnx_model *m, asc_wire w, uint32_t field,
                                             asc_onnx_graph *g);
ASC_MUST_USE asc_status asc_onnx_parse_opsets(asc_onnx_model *m, asc_wire w, uint32_t field,
                                              asc_onnx_opset **out, size_t *n);
ASC_MUST_USE asc_status asc_onnx_parse_port(asc_onnx_model *m, asc_wire w, asc_onnx_port *out);
ASC_MUST_USE asc_status asc_onnx_parse_attr(asc_onnx_model *m, asc_wire w, asc_onnx_attr *out);
/* The strings of repeated field `number`. */
ASC_MUST_USE asc_status asc_onnx_parse_names(asc_onnx_model *m, asc_wire w, uint32_t number, asc_view **out,
                                             size_t *n);
ASC_MUST_USE asc_status asc_onnx_parse_name(asc_wire *w, const asc_wire_field *f, asc_view *out);
ASC_MUST_USE asc_status asc_onnx_build(asc_onnx_model *m, asc_onnx_graph *g, const asc_onnx_opset *opsets,
                                       size_t n_opsets);

/* onnx_function.c: the functions of a model, and the body of one call with the call's attributes filled in.
 */
ASC_MUST_USE asc_status asc_onnx_parse_functions(asc_onnx_model *m, asc_wire w);
const asc_onnx_function *asc_onnx_function_find(const asc_onnx_model *m, const asc_onnx_node *n);
ASC_MUST_USE asc_status asc_onnx_function_body(asc_onnx_model *m, const asc_onnx_function *f,
                                               const asc_onnx_node *call, asc_onnx_graph **out);

/* onnx_order.c: nodes sorted so that each follows what it needs; INVALID_ARGUMENT names a node of a cycle. */
ASC_MUST_USE asc_status asc_onnx_order(asc_onnx_model *m, asc_onnx_graph *g);

/* "node 'conv1' (Conv)" or "node 7 (Conv)" into out; returns out. */
const char *asc_onnx_node_text(const asc_onnx_node *n, char out[160]);
const asc_onnx_attr *asc_onnx_node_attr(const asc_onnx_node *n, const char *name); /* NULL = absent */

#endif
