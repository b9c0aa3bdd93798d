import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import css from './chat.module.css';

export function EmptyChat() {
  const messages = useMessages();
  return (
    <div className={css.emptyChat}>
      <Icon name="chat" size={34} />
      <h2>{messages.chat.emptyTitle}</h2>
      <p>{messages.chat.emptyHint}</p>
    </div>
  );
}
