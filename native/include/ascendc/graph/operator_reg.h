/* REG_OP: an operator's prototype, which graphs are built with. It declares a class of its name; what an operator
 * takes is known of its definition. Our own implementation of public names. */
#pragma once
#pragma GCC system_header
#include "../register/op_def_registry.h"
#include "operator.h"

namespace ge {

/* The types that a prototype lists. */
class TensorType {
   public:
    TensorType(DataType) {}
    TensorType(std::initializer_list<DataType>) {}
    static TensorType ALL() { return TensorType({}); }
    static TensorType BasicType() { return TensorType({}); }
    static TensorType NumberType() { return TensorType({}); }
    static TensorType RealNumberType() { return TensorType({}); }
    static TensorType FLOAT() { return TensorType({DT_FLOAT, DT_FLOAT16}); }
};

/* What the lines of a prototype are called on. */
struct AscPrototype {
    void N() {}
};

}  // namespace ge

/* Each line ends one member function and begins the next. */
#define ASC_PROTOTYPE_LINE(kind, name)                \
    N();                                              \
    }                                                 \
    __attribute__((unused)) void asc_##kind##name() { \
        ::ge::AscPrototype()

#define REG_OP(type)                                                             \
    namespace op {                                                               \
    class type : public ::ge::Operator {                                         \
       public:                                                                   \
        explicit type(const char *name = #type) : ::ge::Operator(name, #type) {} \
                                                                                 \
       private:                                                                  \
        __attribute__((unused)) void asc_begin() {                               \
            ::ge::AscPrototype()
#define INPUT(name, types) ASC_PROTOTYPE_LINE(input_, name)
#define OPTIONAL_INPUT(name, types) ASC_PROTOTYPE_LINE(input_, name)
#define DYNAMIC_INPUT(name, types) ASC_PROTOTYPE_LINE(input_, name)
#define OUTPUT(name, types) ASC_PROTOTYPE_LINE(output_, name)
#define DYNAMIC_OUTPUT(name, types) ASC_PROTOTYPE_LINE(output_, name)
#define ATTR(name, kind, ...) ASC_PROTOTYPE_LINE(attr_, name)
#define REQUIRED_ATTR(name, kind) ASC_PROTOTYPE_LINE(attr_, name)
#define OP_END_FACTORY_REG(type) \
    N();                         \
    }                            \
    }                            \
    ;                            \
    }
