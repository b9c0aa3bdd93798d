import type { Decision } from '~/api/access';
import tags from '~/components/components.module.css';
import { Icon } from '~/components/Icon';
import { toneClass } from '~/components/tone';
import { useMessages } from '~/i18n';
import css from './access.module.css';
import { callerLabel } from './callerLabel';
import { EFFECT_ICONS, EFFECT_TONES } from './effects';

interface Props {
  tool: string;
  decision: Decision;
  isOpen: boolean;
  /** The id of the explanation that the button shows and hides. */
  controls: string;
  onToggle: () => void;
}

/** What a caller may do with a tool. Shows and hides the explanation. */
export function EffectButton({ tool, decision, isOpen, controls, onToggle }: Props) {
  const messages = useMessages();
  const effect = messages.access.effects[decision.effect];
  return (
    <button
      type="button"
      className={`${tags.tag} ${toneClass(EFFECT_TONES[decision.effect])} ${css.effect}`}
      aria-label={messages.access.decision(tool, callerLabel(messages, decision), effect)}
      aria-expanded={isOpen}
      aria-controls={isOpen ? controls : undefined}
      onClick={onToggle}
    >
      <Icon name={EFFECT_ICONS[decision.effect]} size={14} />
      {effect}
    </button>
  );
}
