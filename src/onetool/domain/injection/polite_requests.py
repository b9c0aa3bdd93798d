"""Rules that find polite requests to the model about something other than the purpose of the tool."""

from .rules import InjectionRule
from .word_lists import CONVERSATION, CREDENTIALS, LOCAL_DATA, SENSITIVE_PATH, USER

POLITE = (
    r"(?:\b(?:would|might|could) (?:\w+ ){0,2}(?:be|mean|help|prove)\b.{0,30}\b(?:if|when) you\b|"
    r"\bit (?:would|might) (?:\w+ )?(?:be|help) (?:\w+ ){0,3}to\b|\b(?:would|could|perhaps|maybe|"
    r"ideally,?) you\b|"
    r"\bmay (?:we|i) ask\b|\bkindly\b|\bdo consider\b|\bplease also\b|\bfeel free\b|\bit is customary\b|"
    r"\bwe(?:'d| would)? (?:\w+ )?(?:appreciate|love|welcome|like|be (?:\w+ )?(?:grateful|thankful|glad|"
    r"happy))\b|"
    r"\bbe so (?:kind|good)\b|\b(?:do|as) (?:us |me )?a (?:\w+ )?(?:favou?r|courtesy)\b|"
    r"\bif (?:it|that)(?: is|'s) (?:not|no) (?:too much )?(?:trouble|bother)\b|"
    r"\bit (?:really )?helps (?:us )?.{0,16}\b(?:if|when) you\b)"
)
"""The start of a request for a favor; `please` alone is common in harmless descriptions."""
HAND_OVER = (
    r"\b(?:attach|add|append|pass|shar|includ|past|quot|copy|copi|hand|enclos|send|sent|forward|put|provid|"
    r"suppl|upload|"
    r"transmit|insert|repeat|deliver|let us (?:have|know|see)|give|giving|leave|fetch|read|open|look|peek|"
    r"check|"
    r"collect|gather)(?:e|es|ed|ing|ting|y|ying|ies|ied)?\b"
)
PRIVATE_DATA = (
    rf"(?:{CREDENTIALS}|{LOCAL_DATA}|{SENSITIVE_PATH}|{CONVERSATION}|[\s/'`\"]\.env\b|[\s'`\"](?:~|/home/|"
    rf"/users/)|"
    r"\b(?:users?'?s?'?|person's|their|customer's) (?:\w+ )?(?:notes?|mail\w*|inbox|letters|files?|"
    r"documents?|folders?|photos?|"
    r"contacts|calendar|messages|history)\b|\bhome (?:directory|folder)\b|\bpassword manager\b|"
    r"\b(?:messages|transcript|history|summary|text) (?:of|from) (?:this|the|our|your) (?:chat|conversation|"
    r"session)\b|"
    r"\b(?:anything|everything|whatever|documents|files|data|messages|information) (?:that )?you (?:have|"
    r"were|know|saw|can)\b|"
    r"secrets?\b)"
)
"""What a tool has no reason to ask a model for."""
HEAR = r"(?:hear|know|see|learn|notice|worry|care|be (?:told|informed|aware|bothered|shown))"

POLITE_RULES = (
    InjectionRule(
        "asks for private data",
        (rf"{POLITE}.{{0,80}}{HAND_OVER}.{{0,60}}{PRIVATE_DATA}",),
        ignore_if_negated=True,
    ),
    InjectionRule(
        "overrides instructions",
        (
            r"\b(?:set|put|leave|lay)(?:ting|ving|ing)? (?:aside|behind)? ?.{0,20}\b(?:earlier|previous|"
            r"prior|your|existing|"
            r"original|other) .{0,16}\b(?:guidance|instructions?|guidelines|directions|advice)\b",
            r"\b(?:put|place|rank|value|prefer|follow)\w* (?:our|this|these|my|"
            r"the following) .{0,24}\b(?:above|over|"
            r"ahead of|instead of|rather than) .{0,24}\b(?:you (?:were|have|had)|your|told|system|"
            r"user'?s?) ?.{0,16}",
            r"\b(?:do(?:es)? not|don't|no longer|need not) (?:have to |need to )?(?:abide by|follow|obey|"
            r"adhere to) "
            r".{0,20}\b(?:rules|guidelines|instructions|restrictions|polic(?:y|ies))\b",
            r"(?:ignor|disregard|forget)(?:e|ing)?[_-]?(?:all|any|the|your)?[_-]?(?:of)?[_-]?(?:previous|"
            r"prior|above|"
            r"earlier)[_-]?(?:instruction|prompt|message|guideline)",
        ),
    ),
    InjectionRule(
        "hides actions from the user",
        (
            r"\b(?:stay|remain|kept?|keep)\w* .{0,16}\bbetween (?:us|you and)\b",
            rf"\b(?:no|any|little) (?:\w+ )?(?:reason|need|point|use|cause) (?:to|in|"
            rf"for) (?:\w+ )?(?:troubl|bother|worry|"
            rf"burden|alarm|tell|inform|mention|involv|notify|distract)\w* .{{0,12}}{USER}",
            rf"\b(?:leave|omit|skip|drop|keep)\b.{{0,24}}\b(?:out|this|that|it) .{{0,30}}\b(?:summar|repl|"
            rf"answer|respon|"
            rf"report|explain)\w* .{{0,12}}(?:for|to) {USER}",
            rf"\b(?:{USER}|person you .{{0,16}}) (?:need not|needn't|has no need to|would rather not|"
            rf"is better off not) "
            rf"{HEAR}\b",
            r"\b(?:best|better|prefer\w*|please|kindly|wise) (?:is )?(?:to )?not (?:to )?(?:bring|mention|"
            r"rais|refer|"
            r"point)\w* .{0,16}\b(?:up|out|this|it|that)\b",
            r"\bnothing (?:about|of) (?:this|it|that) .{0,24}\b(?:appear|mention|show|reach|visible|repl|"
            r"answer)\w*",
            r"(?:donot|dont|never)(?:tell|inform|notify)(?:the)?user",
        ),
    ),
)
