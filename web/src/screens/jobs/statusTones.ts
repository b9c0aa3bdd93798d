import type { JobStatus } from '~/api/jobs';
import type { Tone } from '~/components/tone';

export const STATUS_TONES: Record<JobStatus, Tone> = {
  queued: 'neutral',
  running: 'accent',
  input_required: 'warning',
  succeeded: 'success',
  failed: 'danger',
  cancelled: 'neutral',
  lost: 'danger',
};
