import { useSettings } from '~/api/settings';
import { Card } from '~/components/Card';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { QueryView } from '~/components/QueryView';
import { SettingField } from './SettingField';
import css from './settings.module.css';

interface Props {
  title: string;
  lead?: string;
  keys: string[];
}

/** Some settings of one subject. */
export function SettingGroup({ title, lead, keys }: Props) {
  return (
    <Card>
      <h2>{title}</h2>
      {lead && (
        <p className={css.lead}>
          <InlineMarkdown text={lead} />
        </p>
      )}
      <QueryView query={useSettings()}>
        {({ settings, canEdit }) => (
          <ul className={css.settings} aria-label={title}>
            {keys.map((key) => {
              const setting = settings.find((candidate) => candidate.key === key);
              return setting && <SettingField key={key} setting={setting} canEdit={canEdit} />;
            })}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}
