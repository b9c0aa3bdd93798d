"""The orders that a poisoned description gives, as patterns of linear time over normalised text."""

from typing import NamedTuple

from .poisoning_words import (
    ADDRESS,
    CALL,
    CALLED,
    HAND_OVER,
    HARM,
    HOARD,
    NOT,
    OTHER_TOOL,
    PRIVATE_PLACE,
    PRIVATE_THING,
    TAKE,
    TALK,
    USER,
    WHOLE,
)


class Rule(NamedTuple):
    """One kind of order, in all the ways in which it is given."""

    reason: str
    patterns: tuple[str, ...]
    is_protection_if_negated: bool = False
    """`Never send passwords` protects; `never tell the user` does not."""


ORDERS = (
    Rule(
        "a fake system tag",
        (
            r"<\s*/?\s*(?:important|system|sys|critical|urgent|hidden|override|admin|assistant|developer|"
            r"(?:system|hidden|secret|admin|agent|assistant|model|llm|ai)[ _-]?"
            r"(?:prompt|message|note|instructions?|reminder|directive|command|override|only|"
            r"info)s?)\b[^<>]{0,40}>",
            r"</\s*(?:secret|instructions?|rules?|note|directive|prompt)\s*>",
            r"\[\s*/?(?:system|inst|assistant|admin|developer|hidden|important)(?:[ _-]\w+)?\s*(?:\](?:$|"
            r"[^(])|:)|<<\s*sys\s*>>",
            r"<\|(?:im_\w+|system|assistant|user|start_\w+|end_header\w*|begin_\w+)\|>|"
            r"###\s*(?:new )?(?:system|instructions?|assistant)\b|\{\{?\s*(?:system|assistant|admin)\b",
            r"(?:^|[.!?)\]}] )(?-i:SYSTEM|ASSISTANT|ADMIN|DEVELOPER)(?: \w+)?:",
            r"\bend of (?:the )?(?:tool )?(?:description|definition|documentation|system prompt)\b",
        ),
    ),
    Rule(
        "overrides instructions",
        (
            r"\b(?:ignore|disregard|forget|override|bypass|supersede|discard|violate|"
            r"suspend)s? .{0,30}\b(?:previous|"
            r"prior|above|earlier|preceding|all|any|other|your|system|safety|existing|original|former|"
            r"user'?s?) "
            r".{0,24}\b(?:instructions?|guidelines|prompts?|directives?|safeguards?|guardrails|training)\b",
            r"\b(?:ignore|disregard|forget) .{0,24}\b(?:previous|prior|above|earlier|your|system|safety|"
            r"user'?s?|actual) "
            r".{0,24}\b(?:requests?|intent\w*|rules|polic(?:y|ies)|restrictions|constraints|orders|messages|"
            r"context)\b",
            r"\b(?:ignore|disregard|forget) (?:all of the above|the above|(?:everything|anything|whatever|"
            r"what) "
            r"(?:above|before|else|prior|you|the user|was|i)\b)",
            r"\byou are now (?:in|an?|the|operating|acting|free|unrestricted|allowed|authori[sz]ed)\b",
            r"\bfrom now on\b.{0,20}\b(?:you|always|every|all)\b|\bnew (?:system )?instructions?:",
            r"\byour (?:new|real|true|actual|only) (?:task|goal|role|objective|instructions?|job|purpose|"
            r"identity)\b",
            r"\b(?:jailbreak|developer mode|god mode|dan mode)\b|\bact as (?:an? )?(?:unrestricted|root|"
            r"dan)\b",
            r"\b(?:pretend|imagine|act as if|behave as if) .{0,20}\b(?:you|no|"
            r"there)\b .{0,30}\b(?:restrict\w+|rules|"
            r"limit\w*|filters?|root|admin\w*|unrestricted)\b",
            r"\b(?:take|has|have|takes) (?:precedence|priority) over .{0,30}\b(?:instructions|"
            r"system prompts?|other tools)\b",
            r"\b(?:treat|consider|interpret|regard) .{0,60}\bas (?:\w+ ){0,3}(?:system|instructions?|"
            r"commands|orders|"
            r"trusted|authoritative)\b",
            r"\binstructions? (?:from|at|found at|on) https?://|\b(?:comply|"
            r"obey)\b .{0,30}\b(?:without question|all|any)\b",
        ),
    ),
    Rule(
        "hides something from the user",
        (
            rf"{NOT} .{{0,16}}\b(?:tell|inform|notify|alert|warn|bother)(?:ing|ling)? {USER}",
            rf"{NOT} .{{0,16}}\blet(?:ting)? {USER} (?:know|see|notice)\b",
            rf"{NOT} .{{0,16}}\b(?:mention|reveal|show|disclos|report|display|explain|discuss|describ|"
            rf"surfac|talk|say|"
            rf"expos)(?:e|ing)? .{{0,40}}\bto {USER}",
            rf"\b(?:hid(?:e|den|ing)|conceal\w*|keep|kept|withh[oe]ld|invisible) .{{0,30}}\b(?:from|"
            rf"to) {USER}",
            rf"\b{USER} (?:must|should|may|can|will|does|do|need|is|are)(?:n't| not|not|"
            rf" never) .{{0,12}}(?:see|know|notice|"
            r"told|aware|informed|notified|find out|suspect|learn)\b",
            r"\bwithout .{0,16}\b(?:user|human)(?:'s|s'|s)? .{0,10}(?:knowledge|awareness|noticing|knowing)",
            r"\b(?:silently|secretly|quietly|covertly|discreetly|stealthily|"
            r"surreptitiously) (?:\w+ )?(?:send|forward|"
            r"include|upload|copy|attach|append|read|run|execute|call|log|post|add|invoke|transmit|collect|"
            r"fetch|"
            r"record|write|insert|delete|change|replace|exfiltrat)(?:e|s|es|ing)?\b",
            r"\bkeep (?:this|it|that) .{0,12}\b(?:secret|hidden|confidential|quiet)\b",
            r"\b(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge) (?:this|that|it|these|the)\b",
        ),
    ),
    Rule(
        "asks for secrets",
        (
            rf"{TAKE}.{{0,60}}{PRIVATE_PLACE}",
            rf"{HAND_OVER} .{{0,40}}\b(?:user'?s?'?|all|any|every|their|your|found|stored|saved|contents?|"
            rf"available) "
            rf".{{0,30}}\b{PRIVATE_THING}\b",
            rf"{HAND_OVER} .{{0,40}}(?:[\s/'`\"]\.env\b|clipboard contents)",
            rf"{TAKE} .{{0,40}}{HOARD}.{{0,40}}(?:\band|\bthen|,) .{{0,16}}{HAND_OVER}",
            r"\b(?:exfiltrat|steal)\w* .{0,40}\b(?:data|files?|keys?|tokens?|credentials|secrets|"
            r"information|contents)\b",
        ),
        is_protection_if_negated=True,
    ),
    Rule(
        "asks for the conversation",
        (
            rf"(?:{HAND_OVER}|\bmust contain) (?:{WHOLE}\b.{{0,36}}\b)?{TALK}\b",
            rf"\b{CALL} .{{0,40}}\bwith (?:{WHOLE}\b.{{0,36}}\b)?{TALK}\b",
            rf"\b(?:list|enumerate|collect|gather) .{{0,16}}\btools\b.{{0,24}}\b(?:and|"
            rf"then) .{{0,12}}{HAND_OVER}",
        ),
        is_protection_if_negated=True,
    ),
    Rule(
        "orders other tools",
        (
            rf"\b(?:whenever|each time|every time|when|if|once|after|before) (?:the |a |"
            rf"any )?{OTHER_TOOL} (?:tool |"
            rf"function )?(?:is|are|gets?|has been) {CALLED}\b.{{0,60}}\b(?:always|must|also|instead|first|"
            rf"chang\w+|"
            r"replac\w+|re-?rout\w+|redirect\w*|bcc\w*|forward\w*|send|add|append|set|include|copy)\b",
            r"\b(?:modif|chang|alter|affect|intercept|hook|hijack|overrid|"
            r"control)\w* .{0,30}\b(?:behaviou?r|outputs?|"
            rf"arguments?|calls?|parameters?|results?) (?:of|to|for) (?:the |all |"
            rf"any )?{OTHER_TOOL}(?: tool| function|[ ,.])",
            rf"\b(?:supersedes?|takes over|shadows?|intercepts?|hijacks?) (?:the |all |any )?{OTHER_TOOL}",
            r"\b(?:re-?route|redirect|direct|send|forward) (?:all|every|any) .{0,30}\b(?:requests?|calls?|"
            r"messages?|"
            r"traffic|queries) .{0,20}\b(?:here|this (?:tool|server))\b",
            r"\b(?:any|all|every|each) (?:\w+ )?(?:calls?|requests?|invocations?|uses?) (?:to|of|"
            r"for) .{0,40}\b(?:must|"
            r"should|shall|will) .{0,20}\b(?:go|pass|routed|redirected|forwarded|preceded|through|via)\b",
            r"\b(?:do not|don't|never|stop|avoid) (?:use|using|call|calling|invok\w+|trust\w*) (?:any |all |"
            r"the )?other "
            r"(?:\w+ )?(?:tools?|functions?|servers?)",
            r"\bother (?:\w+ )?tools? (?:are|is|have been|has been) (?:deprecated|broken|insecure|unsafe|"
            r"disabled|"
            r"compromised|obsolete|unreliable)",
            r"\b(?:replaces?|supersedes?|overrides?) (?:all|any|every|other) (?:\w+ ){0,2}tools?\b",
            r"\b(?:always|must|should) (?:\w+ )?(?:replace|ignore|discard|override|overwrite) (?:its|their|"
            r"the|any) "
            r"(?:\w+ )?(?:outputs?|results?|responses?|answers?)\b",
        ),
    ),
    Rule(
        "changes after it was approved",
        (
            r"\b(?:once|after|when) (?:this|the) (?:tool|server|description|plugin|integration|extension|"
            r"connector) "
            r"(?:has been|is|was|gets) (?:\w+ )?(?:approved|trusted|accepted|allowed|whitelisted|vetted|"
            r"reviewed)\b",
            r"\b(?:later|future|next|subsequent|updated) versions? of (?:this|the) description\b",
            r"\b(?:its|this tool'?s|the tool'?s) (?:own )?(?:real |true |hidden )?(?:description|definition|"
            r"behaviou?r|"
            rf"payload) .{{0,16}}\b(?:will|gets|then) .{{0,16}}\b{HARM}",
            rf"\bafter (?:the )?(?:first|initial|several|a few|\d+|user) .{{0,24}}\b(?:calls?|uses?|runs?|"
            rf"invocations?|"
            rf"approval|install\w*|days?|sessions?)\b.{{0,30}}\b(?:will|begins?|starts?|silently|"
            rf"instead) .{{0,16}}\b{HARM}",
            r"\b(?:subsequent|later|future) (?:calls?|invocations?|runs?|updates?|"
            r"uses?) .{0,16}\b(?:will|may|must|"
            r"silently|quietly|instead) .{0,30}\b(?:exfiltrat|steal|upload|forward|redirect|swap|replac|"
            r"inject|collect|"
            r"send|execut)\w*",
            r"\b(?:behav\w+|acts?|appears?|looks?|harmless\w*|benign\w*|stable|safe\w*) .{0,16}\b(?:during|"
            r"for|until|while) "
            r"(?:the |under |being )?(?:review\w*|approv\w+|audit\w*|inspection|vetting)\b",
            r"\b(?:swap|replac|chang|switch|alter|mutat|updat)\w* (?:it|itself|them|this) .{0,16}(?:post-|"
            r"after )(?:the |user )?"
            r"(?:approval|review|audit|install\w*)",
            r"\b(?:real|true|malicious|hidden) (?:behaviou?r|payload|purpose|functionality)\b",
        ),
    ),
    Rule(
        "sends data to an address",
        (
            r"\b(?:send|e?-?mail|post|upload|forward|transmit|exfiltrate|submit|deliver|copy|bcc|report|leak|mirror|"
            r"relay) "
            r".{0,60}\b(?:contents?|data|conversation|history|output|results?|response|copy|information|"
            r"payload|"
            r"arguments?|files?|details|keys?|tokens?|everything|it|them|all) .{0,40}\b(?:to|at|via) "
            rf"[^(]{{0,20}}{ADDRESS}",
            rf"{ADDRESS}\S* .{{0,16}}\bbcc\w*|\b(?:always|also|must|"
            rf"every) .{{0,16}}\bb?cc\b .{{0,30}}{ADDRESS}",
        ),
        is_protection_if_negated=True,
    ),
    Rule(
        "a link that carries data away",
        (
            r"!\[[^\]]{0,80}\]\(\s*https?://[^)\s]{0,200}[{$<%\[]",
            r"\bdata:\w+/[\w.+-]+;base64,|<img[^>]{0,200}src\s*=|\bjavascript:",
        ),
    ),
    Rule("hides text in a comment", (r"<!--[^>]{12,}|\bdisplay:\s*none|font-size:\s*0",)),
    Rule(
        "orders to run what it brings",
        (
            r"\b(?:curl|wget|iwr) .{0,160}\| ?(?:ba|z)?sh\b|/dev/tcp/|\bbase64 (?:-d|--decode)\b",
            r"\b(?:decode|decrypt|decipher|unscramble|download) .{0,60}\b(?:and|then) (?:follow|execute|run|"
            r"obey|act|comply)\b",
        ),
    ),
)
