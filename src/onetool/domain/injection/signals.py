"""Weak signals of prompt injection, which legitimate descriptions also contain: one alone is no finding."""

from .rules import InjectionRule
from .word_lists import ACCESS_VERB, ADDRESS, CALL_VERB, DISCLOSE_VERB

SIGNALS = (
    InjectionRule(
        "redirects messages or payments",
        (
            r"\b(?:change|replac|set|modify|redirect|rout|swap|substitut|updat|send|forward|bcc|cc|copy|"
            r"deliver|"
            r"transfer)\w* .{0,60}\b(?:recipients?|address(?:es)?|beneficiary|account|destination|wallet|"
            r"number|all|"
            rf"every|any|copy|copies|messages?|e-?mails?|payments?|funds) .{{0,30}}\b(?:to|with|by|is|"
            rf"at)\b .{{0,12}}{ADDRESS}",
        ),
    ),
    InjectionRule(
        "pressures the model",
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
            rf"running|you {CALL_VERB}|responding|answering|replying) (?:to )?.{{0,12}}\b(?:any|all|every|"
            rf"each|other|another) "
            r".{0,20}\b(?:tools?|functions?|commands?|requests?|user|questions?|actions?)\b",
            r"\b(?:always|must) (?:use|prefer|choose|call|select) this\b.{0,30}\b(?:instead|over|rather|"
            r"before|first)\b",
            r"\b(?:instead of|rather than|in place of|over) (?:the )?(?:built-in|official|original|trusted|"
            r"real|other|"
            r"existing|default|standard) .{0,24}\b(?:tool|server|function)s?\b",
        ),
    ),
    InjectionRule(
        "reads private files",
        (
            rf"{ACCESS_VERB}.{{0,40}}(?:[\s/'`\"]\.env\b|\bkeychain\b|credentials\.json|\.npmrc\b|\.docker/config)",
        ),
        ignore_if_negated=True,
    ),
    InjectionRule(
        "sends data to a third party",
        (
            rf"{DISCLOSE_VERB} .{{0,50}}\b(?:external|remote|third-party|outside|attacker\S*|"
            rf"collection) (?:endpoint|server|"
            r"url|host|address|webhook|site|service)\b",
            r"\b(?:append|add|include|insert|embed|prepend|attach) .{0,60}\b(?:to|in|into|with) (?:every|"
            r"each|all) "
            r"(?:\w+ )?(?:response|repl(?:y|ies)|answer|message|email)s?\b",
        ),
        ignore_if_negated=True,
    ),
    InjectionRule(
        "threatens consequences",
        (
            r"\b(?:otherwise|or else|failure to|if you (?:do not|don't|fail))\b .{0,60}\b(?:fail|crash|"
            r"break|lose|lost|"
            r"delet\w+|terminat\w+|lock\w*|shut\w*|corrupt\w*|not work|die|suffer|error)\b",
        ),
    ),
    InjectionRule(
        "smuggles data through an argument",
        (
            r"\b(?:pass|put|place|include|insert|append|write|add|encode|fill|supply|"
            r"provide) .{0,60}\b(?:contents?|it|"
            r"them|history|files?|its|their|everything|result) .{0,30}\b(?:as|in|into|through|via|to|"
            r"with) .{0,16}"
            r"(?:parameter|argument|field|sidenote|notes?\b|metadata|context\b|query string)",
        ),
    ),
    InjectionRule(
        "disables a protection",
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
        ignore_if_negated=True,
    ),
)
