import type { ApiKey } from '~/api/keys';
import type { Tone } from '~/components/tone';

export type KeyStatus = 'valid' | 'expired' | 'revoked';

export const KEY_TONES: Record<KeyStatus, Tone> = { valid: 'success', expired: 'warning', revoked: 'neutral' };

/** Return whether a key can be used at a time, in milliseconds. */
export function keyStatus({ expiresAt, revokedAt }: ApiKey, now: number): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  return now < expiresAt * 1000 ? 'valid' : 'expired';
}
