// Where a new tool is kept, and what it is called there.
import { Select, TextInput } from '@mantine/core';
import type { Bundle } from '~/api/tools';
import { useWords } from '~/i18n';
import css from './maker.module.css';

export interface PlaceOf {
  bundle: string;
  bundleName: string;
  slug: string;
  version: string;
}

export const NEW = 'new';

interface Props {
  place: PlaceOf;
  bundles: Bundle[];
  isFixed: boolean;
  errors: Record<string, string>;
  set: (part: Partial<PlaceOf>) => void;
}

export function Place({ place, bundles, isFixed, errors, set }: Props) {
  const words = useWords();
  const options = [...bundles.map((one) => ({ value: one.id, label: one.displayName || one.slug })), { value: NEW, label: words.maker.bundleNew }];
  return (
    <div className={css.trio}>
      <Select
        label={words.maker.bundle}
        description={words.maker.bundleHint}
        data={options}
        value={place.bundle}
        disabled={isFixed}
        allowDeselect={false}
        onChange={(bundle) => set({ bundle: bundle ?? NEW })}
      />
      {place.bundle === NEW && (
        <TextInput label={words.maker.bundleName} description={words.bundle.slugHint} required value={place.bundleName} error={errors.bundleName} onChange={(event) => set({ bundleName: event.currentTarget.value })} />
      )}
      <TextInput label={words.maker.slug} description={words.maker.slugHint} required disabled={isFixed} value={place.slug} error={errors.slug} onChange={(event) => set({ slug: event.currentTarget.value })} />
      <TextInput label={words.maker.version} description={words.maker.versionHint} required value={place.version} error={errors.version} onChange={(event) => set({ version: event.currentTarget.value })} />
    </div>
  );
}
