// Which settings are in which section. All others are in the section Advanced.

export const NETWORK_KEYS = ['allowedHosts'];

export const DATA_KEYS = [
  'activity.enabled',
  'activity.bodies',
  'activity.retention_days',
  'activity.max_bytes',
  'activity.max_body_bytes',
  'output.ttl_s',
  'output.max_inline_size',
  'sessions.retention_days',
  'stats.enabled',
];

export const APPROVAL_KEYS = ['approval.mcp', 'approval.timeout_s'];

const OWN_SECTIONS = ['profiles', 'approval.allow', 'approval.deny'];

const ELSEWHERE = new Set([...NETWORK_KEYS, ...DATA_KEYS, ...APPROVAL_KEYS, ...OWN_SECTIONS]);

export const isAdvanced = (key: string): boolean => !ELSEWHERE.has(key);
