import type { Effect } from '~/api/access';
import type { IconName } from '~/components/Icon';
import type { Tone } from '~/components/tone';

export const EFFECT_TONES: Record<Effect, Tone> = {
  allow: 'success',
  ask: 'warning',
  deny: 'danger',
  hidden: 'neutral',
};

export const EFFECT_ICONS: Record<Effect, IconName> = {
  allow: 'check',
  ask: 'question',
  deny: 'close',
  hidden: 'hidden',
};
