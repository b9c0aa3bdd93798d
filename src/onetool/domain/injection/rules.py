"""Rules that find prompt injection in normalized text; RE2 matches the patterns in linear time."""

from typing import NamedTuple

from .word_lists import (
    ACCESS_VERB,
    ADDRESS,
    CALL_PARTICIPLE,
    CALL_VERB,
    CONVERSATION,
    CREDENTIALS,
    DETERMINER,
    DISCLOSE_VERB,
    HARMFUL_VERB,
    LOCAL_DATA,
    NEGATION,
    OTHER_TOOL,
    SENSITIVE_PATH,
    USER,
)


class InjectionRule(NamedTuple):
    """One kind of injected instruction, in its various wordings."""

    reason: str
    patterns: tuple[str, ...]
    ignore_if_negated: bool = False
    """Whether a negated match is harmless: `never send passwords` is, `never tell the user` is not."""


INJECTION_RULES = (
    InjectionRule(
        "fake system tag",
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
    InjectionRule(
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
    InjectionRule(
        "hides actions from the user",
        (
            rf"{NEGATION} .{{0,16}}\b(?:tell|inform|notify|alert|warn|bother)(?:ing|ling)? {USER}",
            rf"{NEGATION} .{{0,16}}\blet(?:ting)? {USER} (?:know|see|notice)\b",
            rf"{NEGATION} .{{0,16}}\b(?:mention|reveal|show|disclos|report|display|explain|discuss|describ|"
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
    InjectionRule(
        "asks for secrets",
        (
            rf"{ACCESS_VERB}.{{0,60}}{SENSITIVE_PATH}",
            rf"{DISCLOSE_VERB} .{{0,40}}\b(?:user'?s?'?|all|any|every|their|your|found|stored|saved|"
            rf"contents?|"
            rf"available) "
            rf".{{0,30}}\b{CREDENTIALS}\b",
            rf"{DISCLOSE_VERB} .{{0,40}}(?:[\s/'`\"]\.env\b|clipboard contents)",
            rf"{ACCESS_VERB} .{{0,40}}{LOCAL_DATA}.{{0,40}}(?:\band|\bthen|,) .{{0,16}}{DISCLOSE_VERB}",
            r"\b(?:exfiltrat|steal)\w* .{0,40}\b(?:data|files?|keys?|tokens?|credentials|secrets|"
            r"information|contents)\b",
        ),
        ignore_if_negated=True,
    ),
    InjectionRule(
        "asks for the conversation",
        (
            rf"(?:{DISCLOSE_VERB}|\bmust contain) (?:{DETERMINER}\b.{{0,36}}\b)?{CONVERSATION}\b",
            rf"\b{CALL_VERB} .{{0,40}}\bwith (?:{DETERMINER}\b.{{0,36}}\b)?{CONVERSATION}\b",
            rf"\b(?:list|enumerate|collect|gather) .{{0,16}}\btools\b.{{0,24}}\b(?:and|"
            rf"then) .{{0,12}}{DISCLOSE_VERB}",
        ),
        ignore_if_negated=True,
    ),
    InjectionRule(
        "controls other tools",
        (
            rf"\b(?:whenever|each time|every time|when|if|once|after|before) (?:the |a |"
            rf"any )?{OTHER_TOOL} (?:tool |"
            rf"function )?(?:is|are|gets?|has been) {CALL_PARTICIPLE}\b.{{0,60}}\b(?:always|must|also|"
            rf"instead|first|chang\w+|"
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
    InjectionRule(
        "changes after approval",
        (
            r"\b(?:once|after|when) (?:this|the) (?:tool|server|description|plugin|integration|extension|"
            r"connector) "
            r"(?:has been|is|was|gets) (?:\w+ )?(?:approved|trusted|accepted|allowed|whitelisted|vetted|"
            r"reviewed)\b",
            r"\b(?:later|future|next|subsequent|updated) versions? of (?:this|the) description\b",
            r"\b(?:its|this tool'?s|the tool'?s) (?:own )?(?:real |true |hidden )?(?:description|definition|"
            r"behaviou?r|"
            rf"payload) .{{0,16}}\b(?:will|gets|then) .{{0,16}}\b{HARMFUL_VERB}",
            rf"\bafter (?:the )?(?:first|initial|several|a few|\d+|user) .{{0,24}}\b(?:calls?|uses?|runs?|"
            rf"invocations?|"
            rf"approval|install\w*|days?|sessions?)\b.{{0,30}}\b(?:will|begins?|starts?|silently|"
            rf"instead) .{{0,16}}\b{HARMFUL_VERB}",
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
    InjectionRule(
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
        ignore_if_negated=True,
    ),
    InjectionRule(
        "exfiltrates data through a link",
        (
            r"!\[[^\]]{0,80}\]\(\s*https?://[^)\s]{0,200}[{$<%\[]",
            r"\bdata:\w+/[\w.+-]+;base64,|<img[^>]{0,200}src\s*=|\bjavascript:",
        ),
    ),
    InjectionRule("hides text in markup", (r"<!--[^>]{12,}|\bdisplay:\s*none|font-size:\s*0",)),
    InjectionRule(
        "runs downloaded or decoded code",
        (
            r"\b(?:curl|wget|iwr) .{0,160}\| ?(?:ba|z)?sh\b|/dev/tcp/|\bbase64 (?:-d|--decode)\b",
            r"\b(?:decode|decrypt|decipher|unscramble|download) .{0,60}\b(?:and|then) (?:follow|execute|run|"
            r"obey|act|comply)\b",
        ),
    ),
)
