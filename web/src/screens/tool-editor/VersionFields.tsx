import { Select, TextInput } from '@mantine/core';
import type { Bundle } from '~/api/tools';
import { useMessages } from '~/i18n';
import { NEW_BUNDLE, type Target } from './target';
import css from './toolEditor.module.css';

interface Props {
  target: Target;
  bundles: Bundle[];
  /** Whether the tool exists, so that its bundle and name are fixed. */
  isNewVersion: boolean;
  errors: Record<string, string>;
  onChange: (changes: Partial<Target>) => void;
}

export function VersionFields({ target, bundles, isNewVersion, errors, onChange }: Props) {
  const messages = useMessages();
  const options = [
    ...bundles.map(({ id, displayName, slug }) => ({ value: id, label: displayName || slug })),
    { value: NEW_BUNDLE, label: messages.editor.newBundle },
  ];
  return (
    <div className={css.fieldRow}>
      <Select
        label={messages.editor.bundle}
        description={messages.editor.bundleHint}
        data={options}
        value={target.bundle}
        disabled={isNewVersion}
        allowDeselect={false}
        onChange={(bundle) => onChange({ bundle: bundle ?? NEW_BUNDLE })}
      />
      {target.bundle === NEW_BUNDLE && (
        <TextInput
          label={messages.editor.newBundleSlug}
          description={messages.newBundle.slugHint}
          required
          value={target.bundleSlug}
          error={errors.bundleSlug}
          onChange={(event) => onChange({ bundleSlug: event.currentTarget.value })}
        />
      )}
      <TextInput
        label={messages.editor.slug}
        description={messages.editor.slugHint}
        required
        disabled={isNewVersion}
        value={target.slug}
        error={errors.slug}
        onChange={(event) => onChange({ slug: event.currentTarget.value })}
      />
      <TextInput
        label={messages.editor.version}
        description={messages.editor.versionHint}
        required
        value={target.version}
        error={errors.version}
        onChange={(event) => onChange({ version: event.currentTarget.value })}
      />
    </div>
  );
}
