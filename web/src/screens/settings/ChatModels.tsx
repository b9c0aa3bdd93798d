import { useProviders } from '~/api/chat';
import { Card } from '~/components/Card';
import { QueryView } from '~/components/QueryView';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import css from './settings.module.css';

export function ChatModels() {
  const messages = useMessages();
  const query = useProviders();
  return (
    <Card>
      <h2>{messages.settings.models}</h2>
      <QueryView query={query}>
        {({ providers, default: defaultProvider }) => (
          <ul className={css.models}>
            {providers.length === 0 && <li className={css.muted}>{messages.settings.noModels}</li>}
            {providers.map(({ name, model, key }) => (
              <li key={name}>
                <strong>{name}</strong>
                <code>{model}</code>
                {name === defaultProvider && <Tag tone="accent">{messages.settings.defaultModel}</Tag>}
                <Tag tone={key === 'missing' ? 'warning' : 'neutral'}>{messages.settings.key[key]}</Tag>
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}
