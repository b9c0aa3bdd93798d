import type { ServerState } from '~/api/servers';
import type { Tone } from '~/components/tone';

export const STATE_TONES: Record<ServerState, Tone> = {
  connected: 'success',
  idle: 'accent',
  starting: 'warning',
  failed: 'danger',
  configured: 'neutral',
  disabled: 'neutral',
};
