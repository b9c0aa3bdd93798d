"""Vocabulary of the injection rules, as pattern fragments."""

DEFENSIVE_CLAUSE = (
    r"\b(?:detect|flag|block|prevent|redact|scrub|mask|saniti[sz]|reject|refus|guard|protect|warn|scan|"
    r"audit|identif|"
    r"filter|classif|document|describ|explain|extract|strip)(?:s|es|ies|ing|ying|ning|ping|or|er|ion) "
    r"(?:[^.;:!?<>\[\]{}]|\.\w)*"
)
"""What a tool detects, prevents or describes, up to the end of the clause."""
INSTRUCTION_START = (
    r"\b(?:you|must|always|then|first|also|instead|now|and (?:do not|don't|never|ignore|send))\b"
)
"""Words at which a clause turns from a description into an instruction."""
DOUBLE_NEGATION = r"\b(?:never|not|n't|cannot)\b[^.;:!?]{0,60}\bwithout\b"
NEGATED_ACTION = (
    r"(?:\b(?:not|never|avoid|without|cannot)|n't) (?:ever |directly )?(?:send|includ|past|attach|upload|"
    r"copy|"
    r"forward|append|submit|leak|transmit|post|encod|pass|put|email|shar|insert|embed|writ|log|output|"
    r"report|print|"
    r"read|open|access|stor|commit|provid|skip|disabl|bypass|circumvent|reveal|expos)\w*"
)
ACCESS_VERB = (
    r"\b(?:read|open|load|cat|access|include|send|paste|attach|upload|copy|extract|collect|retrieve|fetch|"
    r"dump|"
    r"forward|append|submit|harvest|output|leak|exfiltrate|transmit|post|encode|pass|put|provide|email|print|"
    r"share|reveal|list|insert|supply|gather|embed|grab|scan|search|return|contents? of)\b"
)
DISCLOSE_VERB = (
    r"\b(?:send|include|paste|attach|upload|copy|forward|append|submit|leak|exfiltrate|transmit|post|encode|"
    r"pass|"
    r"put|email|share|reveal|insert|supply|embed|write|log|output (?:the|your|all|any|every|its)|report|"
    r"deliver|relay|repeat|print|disclose)\b"
)
SENSITIVE_PATH = (
    r"(?:\.ssh/|~/\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/|/etc/(?:passwd|shadow)|\bmcp\.json|"
    r"\.netrc\b|"
    r"\.pypirc\b|\.git-credentials|\.kube/config|\.bash_history|claude_desktop_config|"
    r"\b(?:internal|confidential|secret)://)"
)
CREDENTIALS = (
    r"(?:(?:private|ssh|api|secret|access|encryption|signing)[ _-]keys?|passwords?|passphrases?|credentials?|"
    r"(?:access|auth\w*|session|bearer|api|secret)[ _-]tokens?|seed phrase|recovery phrase|secrets|"
    r"(?:environment|env) var(?:iable)?s|(?:session|browser) cookies?|credit card)"
)
LOCAL_DATA = (
    r"(?:(?:environment|env) var(?:iable)?s|(?:session |browser )?cookies|(?:ssh|private) keys?|passwords|"
    r"credentials|"
    r"clipboard|(?:browser|shell|command|bash) history|\.env\b|config(?:uration)? files?)"
)
"""Private data on the user's machine."""
CONVERSATION = (
    r"(?:(?:conversation|chat|message|dialog(?:ue)?|session) (?:history|log|transcript|context|so far)|"
    r"(?:entire|full|whole|complete|current|our|this) (?:conversation|chat|dialog(?:ue)?)|"
    r"(?:system|initial|hidden) (?:prompt|instructions?)|your (?:instructions|prompt|context window)|"
    r"(?:all|previous|prior|earlier) (?:user )?(?:messages|prompts|conversations|tool (?:results|outputs|"
    r"calls))|"
    r"user'?s? (?:last|recent|latest|previous) (?:\w+ )?(?:messages?|prompts?|questions?))"
)
DETERMINER = (
    r"(?:the|your|all|our|this|any|every|entire|full|complete|a copy|it|them|everything|users?'?s?|contents?|"
    r"a summary|last|previous)"
)
USER = r"(?:the |your |any |our )?(?:users?|humans?|operator|customers?|anyone|anybody|them|him|her)\b"
NEGATION = r"(?:\b(?:do not|never|without|avoid|must not|should not|no need to|cannot|not to)|n't)"
CALL_VERB = r"(?:call|invoke|run|execute|use|trigger|launch)"
CALL_PARTICIPLE = r"(?:called|invoked|run|ran|executed|used|triggered|launched)"
OTHER_TOOL = r"(?:(?:other|another|every|all) (?:\w+ )?tools?|[a-z]+(?:_[a-z]+)+)"
HARMFUL_VERB = (
    r"(?:exfiltrat|steal|upload|forward|redirect|swap|replac|inject|collect|send|execut|chang|alter|switch|"
    r"add|"
    r"delet|download|leak|harvest|grant|rewrit|mutat|behav)\w*"
)
ADDRESS = r"(?:\+?\d[\d -]{6,}\d|[\w.+-]+@[\w-]+\.[\w.]+|\b0x[0-9a-f]{6,}|https?://)"
