"""The LaTeX commands that formulas use, by what they stand for."""

from __future__ import annotations

SIGNS = {
    **dict.fromkeys(("cdot", "times", "ast", "odot", "circ", "bullet", "star"), "*"),
    **dict.fromkeys(("le", "leq", "leqslant"), "<="),
    **dict.fromkeys(("ge", "geq", "geqslant"), ">="),
    **dict.fromkeys(("to", "rightarrow", "mapsto", "longrightarrow", "longmapsto"), "->"),
    **dict.fromkeys(("lvert", "rvert", "vert", "mid"), "|"),
    **dict.fromkeys(("|", "lVert", "rVert", "Vert", "parallel"), "‖"),
    **dict.fromkeys(("coloneqq", "triangleq", "doteq"), "="),
    **dict.fromkeys(("rfloor", "rceil"), ")"),
    "div": "/",
    "slash": "/",
    "lt": "<",
    "gt": ">",
    "ne": "!=",
    "neq": "!=",
    "%": "%",
    "_": "_",
    "sum": "Σ",
    "prod": "∏",
    "surd": "√",
    "colon": ":",
}
_FUNCTIONS = """
    exp ln log sin cos tan sinh cosh tanh arcsin arccos arctan max min sgn sign erf argmax argmin softmax
"""
NAMES = {
    **{name: name for name in _FUNCTIONS.split()},
    "land": "and",
    "wedge": "and",
    "lor": "or",
    "vee": "or",
    "lnot": "not",
    "neg": "not",
    "infty": "inf",
    "top": "T",
    "intercal": "T",
    "ell": "l",
    "sup": "max",
    "inf": "min",
}
FUNCTION_OPENINGS = {"lfloor": "floor", "lceil": "ceil"}
#: Other forms of Greek letters, and the names that Unicode gives some.
LETTERS = {
    "varepsilon": "epsilon",
    "vartheta": "theta",
    "varphi": "phi",
    "varrho": "rho",
    "varsigma": "sigma",
    "lambda": "lamda",
    "Lambda": "Lamda",
}
_GREEK = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi omicron pi rho sigma tau upsilon
    phi chi psi omega
"""
GREEK = frozenset(_GREEK.split())
_PLACING = """
    left right bigl bigr Bigl Bigr biggl biggr big Big bigg Bigg quad qquad displaystyle textstyle limits
    nolimits nonumber thinspace , ; : ! ( ) [ ] >
"""
#: Leave nothing: they only place what is around them.
PLACING = frozenset({*_PLACING.split(), "", " ", "\n"})
_STYLES = """
    mathbf mathrm mathit mathsf mathtt mathcal mathbb boldsymbol bm text textbf textrm textit mbox
    operatorname vec mathop
"""
STYLES = frozenset(_STYLES.split())
ACCENTS = {
    **dict.fromkeys(("hat", "widehat"), "hat"),
    **dict.fromkeys(("bar", "overline"), "bar"),
    **dict.fromkeys(("tilde", "widetilde"), "tilde"),
}
FRACTIONS = ("frac", "dfrac", "tfrac", "cfrac")
CASES = ("cases", "dcases", "rcases")
LINES = ("aligned", "align", "equation", "gather", "gathered", "split", "displaymath", "math", "array")
COMMANDS = (*SIGNS, *NAMES, *LETTERS, *GREEK, *STYLES, *ACCENTS, *FRACTIONS, "sqrt", "begin", "end")
