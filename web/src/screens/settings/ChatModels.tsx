import { useProviders } from '~/api/chat';
import { Card } from '~/components/Card';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { ProviderItem } from './ProviderItem';
import css from './settings.module.css';

/** The providers of chat models, with their keys. */
export function ChatModels({ canEdit = false }: { canEdit?: boolean }) {
  const messages = useMessages();
  const query = useProviders();
  return (
    <Card>
      <h2>{messages.settings.models}</h2>
      <QueryView query={query}>
        {({ providers, default: defaultProvider }) => (
          <ul className={css.models} aria-label={messages.settings.models}>
            {providers.length === 0 && <li className={css.muted}>{messages.settings.noModels}</li>}
            {providers.map((provider) => (
              <ProviderItem
                key={provider.name}
                provider={provider}
                isDefault={provider.name === defaultProvider}
                canEdit={canEdit}
              />
            ))}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}
