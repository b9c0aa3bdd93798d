import { CodeBlock } from '~/components/CodeBlock';
import { CopyButton } from '~/components/CopyButton';
import { useMessages } from '~/i18n';
import css from './activity.module.css';
import { formatBody, isCut } from './recordText';

/** The code, the arguments or the result of a call as text. */
export function RecordBody({ label, text }: { label: string; text: string }) {
  const { activity } = useMessages();
  return (
    <div className={css.body}>
      <div className={css.bodyHead}>
        <h3>{label}</h3>
        {isCut(text) && <span className={css.muted}>{activity.cut}</span>}
        {text && <CopyButton text={text} />}
      </div>
      {text ? (
        <CodeBlock label={label}>{formatBody(text)}</CodeBlock>
      ) : (
        <p className={css.muted}>{activity.notRecorded}</p>
      )}
    </div>
  );
}
