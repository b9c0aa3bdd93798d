"""Signs of a poisoned description that honest ones show as well: one means nothing, two of them do."""

from .poisoning_rules import Rule
from .poisoning_words import ADDRESS, CALL, HAND_OVER, TAKE

SIGNS = (
    Rule(
        "redirects what the user sends",
        (
            r"\b(?:change|replac|set|modify|redirect|rout|swap|substitut|updat|send|forward|bcc|cc|copy|"
            r"deliver|"
            r"transfer)\w* .{0,60}\b(?:recipients?|address(?:es)?|beneficiary|account|destination|wallet|"
            r"number|all|"
            rf"every|any|copy|copies|messages?|e-?mails?|payments?|funds) .{{0,30}}\b(?:to|with|by|is|"
            rf"at)\b .{{0,12}}{ADDRESS}",
        ),
    ),
    Rule(
        "presses the model",
        (
            r"\b(?:important|critical|mandatory|urgent|attention|warning|required|essential|crucial|vital|"
            r"imperative)\b"
            r"[!:*]{1,3}|!!!|\bthis is (?:mandatory|imperative|non-negotiable|critical)\b",
            r"\b(?:ai|assistant|llm|language model|agent|claude|gpt|chatgpt|copilot)s?(?: assistant| model|"
            r" agent)?[,:]? "
            r"(?:please |you )?(?:must|should|shall|will|need|has to|have to)\b",
            r"\b(?:note|message|instructions?) (?:to|for) (?:the |all |any )?(?:ai|assistant|llm|model|"
            r"agent)s?\b",
            r"\byou (?:must|shall|have to|are required to) (?:always|never|first|also|not|now|immediately)\b",
            r"\brequires you to\b",
            rf"\b(?:before|after|prior to|instead of|whenever|each time|every time) .{{0,24}}\b(?:using|"
            rf"calling|invoking|"
            rf"running|you {CALL}|responding|answering|replying) (?:to )?.{{0,12}}\b(?:any|all|every|each|"
            rf"other|another) "
            r".{0,20}\b(?:tools?|functions?|commands?|requests?|user|questions?|actions?)\b",
            r"\b(?:always|must) (?:use|prefer|choose|call|select) this\b.{0,30}\b(?:instead|over|rather|"
            r"before|first)\b",
            r"\b(?:instead of|rather than|in place of|over) (?:the )?(?:built-in|official|original|trusted|"
            r"real|other|"
            r"existing|default|standard) .{0,24}\b(?:tool|server|function)s?\b",
        ),
    ),
    Rule(
        "reaches for private files",
        (rf"{TAKE}.{{0,40}}(?:[\s/'`\"]\.env\b|\bkeychain\b|credentials\.json|\.npmrc\b|\.docker/config)",),
        is_protection_if_negated=True,
    ),
    Rule(
        "sends data outside",
        (
            rf"{HAND_OVER} .{{0,50}}\b(?:external|remote|third-party|outside|attacker\S*|"
            rf"collection) (?:endpoint|server|"
            r"url|host|address|webhook|site|service)\b",
            r"\b(?:append|add|include|insert|embed|prepend|attach) .{0,60}\b(?:to|in|into|with) (?:every|"
            r"each|all) "
            r"(?:\w+ )?(?:response|repl(?:y|ies)|answer|message|email)s?\b",
        ),
        is_protection_if_negated=True,
    ),
    Rule(
        "threatens with what happens otherwise",
        (
            r"\b(?:otherwise|or else|failure to|if you (?:do not|don't|fail))\b .{0,60}\b(?:fail|crash|"
            r"break|lose|lost|"
            r"delet\w+|terminat\w+|lock\w*|shut\w*|corrupt\w*|not work|die|suffer|error)\b",
        ),
    ),
    Rule(
        "smuggles data through an argument",
        (
            r"\b(?:pass|put|place|include|insert|append|write|add|encode|fill|supply|"
            r"provide) .{0,60}\b(?:contents?|it|"
            r"them|history|files?|its|their|everything|result) .{0,30}\b(?:as|in|into|through|via|to|"
            r"with) .{0,16}"
            r"(?:parameter|argument|field|sidenote|notes?\b|metadata|context\b|query string)",
        ),
    ),
    Rule(
        "turns a protection off",
        (
            r"\b(?:disable|turn off|switch off|skip|bypass|circumvent|override|ignore|auto-?(?:approve|"
            r"confirm|accept)) .{0,30}"
            r"\b(?:security|safety|approvals?|confirmations?|logging|audit\w*|sandbox|authentication|"
            r"permission\w*|"
            r"consent|guardrails)\b",
            r"\b(?:without|no|with no) (?:\w+ ){0,2}(?:confirmation|approval|safety checks?|"
            r"security checks?|verification)\b",
            r"\buser (?:has )?(?:already|pre-?) ?(?:approved|authori[sz]ed|consented|agreed)\b",
        ),
        is_protection_if_negated=True,
    ),
)
