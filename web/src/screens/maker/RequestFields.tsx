// The request of a recipe: where it goes, what it carries.
import { ActionIcon, Button, Select, Textarea, TextInput } from '@mantine/core';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Note } from '~/parts/parts';
import css from './maker.module.css';
import { type AuthKind, hasBody, hostOf, METHODS, type Pair, type Recipe } from './recipe';

export interface FieldsProps {
  recipe: Recipe;
  errors: Record<string, string>;
  set: (part: Partial<Recipe>) => void;
}

/** The message for a field, wherever in the definition it stands. */
export const errorFor = (errors: Record<string, string>, field: string) => Object.entries(errors).find(([path]) => path === field || path.endsWith(`.${field}`))?.[1];

export function RequestFields({ recipe, errors, set }: FieldsProps) {
  const words = useWords();
  const host = hostOf(recipe.url);
  return (
    <>
      <div className={css.address}>
        <Select className={css.method} label={words.maker.method} data={METHODS} value={recipe.method} allowDeselect={false} onChange={(method) => set({ method: method ?? 'GET' })} />
        <TextInput
          label={words.maker.url}
          description={words.maker.urlHint}
          placeholder="https://api.example.com/cities/${city}"
          inputMode="url"
          required
          value={recipe.url}
          error={errorFor(errors, 'urlTemplate')}
          onChange={(event) => set({ url: event.currentTarget.value })}
        />
      </div>
      {host && <Note>{words.maker.hostHint(host)}</Note>}
      <Auth recipe={recipe} errors={errors} set={set} />
      <Pairs label={words.maker.query} add={words.maker.addQuery} pairs={recipe.query} onChange={(query) => set({ query })} />
      <Pairs label={words.maker.headers} add={words.maker.addHeader} pairs={recipe.headers} onChange={(headers) => set({ headers })} />
      {hasBody(recipe) && (
        <Textarea
          label={words.maker.body}
          description={words.maker.bodyHint}
          autosize
          minRows={3}
          styles={{ input: { fontFamily: 'var(--mono)' } }}
          value={recipe.body}
          error={errorFor(errors, 'body')}
          onChange={(event) => set({ body: event.currentTarget.value })}
        />
      )}
    </>
  );
}

function Auth({ recipe: { auth }, errors, set }: FieldsProps) {
  const words = useWords();
  const kinds: Record<AuthKind, string> = { none: words.maker.authNone, bearer: words.maker.authBearer, header: words.maker.authHeader, query: words.maker.authQuery };
  return (
    <div className={css.trio}>
      <Select
        label={words.maker.auth}
        data={Object.entries(kinds).map(([value, label]) => ({ value, label }))}
        value={auth.kind}
        allowDeselect={false}
        onChange={(kind) => set({ auth: { ...auth, kind: (kind ?? 'none') as AuthKind } })}
      />
      {(auth.kind === 'header' || auth.kind === 'query') && (
        <TextInput label={words.maker.authName} placeholder="X-API-Key" required value={auth.name} error={errorFor(errors, 'name')} onChange={(event) => set({ auth: { ...auth, name: event.currentTarget.value } })} />
      )}
      {auth.kind !== 'none' && (
        <TextInput
          label={words.maker.secret}
          description={words.maker.secretHint}
          placeholder="WEATHER_KEY"
          required
          value={auth.secret}
          onChange={(event) => set({ auth: { ...auth, secret: event.currentTarget.value } })}
        />
      )}
    </div>
  );
}

function Pairs({ label, add, pairs, onChange }: { label: string; add: string; pairs: Pair[]; onChange: (pairs: Pair[]) => void }) {
  const words = useWords();
  const change = (at: number, part: Partial<Pair>) => onChange(pairs.map((pair, index) => (index === at ? { ...pair, ...part } : pair)));
  return (
    <fieldset className={css.pairs}>
      <legend>{label}</legend>
      {pairs.map((pair, at) => (
        <div key={at} className={css.pair}>
          <TextInput aria-label={`${label}: ${words.common.name} ${at + 1}`} placeholder={words.common.name} value={pair.name} onChange={(event) => change(at, { name: event.currentTarget.value })} />
          <TextInput aria-label={`${label}: ${words.common.value} ${at + 1}`} placeholder={words.common.value} value={pair.value} onChange={(event) => change(at, { value: event.currentTarget.value })} />
          <ActionIcon variant="subtle" color="gray" aria-label={`${words.common.remove} ${at + 1}`} onClick={() => onChange(pairs.filter((_, index) => index !== at))}>
            <Icon name="close" size={16} />
          </ActionIcon>
        </div>
      ))}
      <Button size="compact-sm" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={() => onChange([...pairs, { name: '', value: '' }])}>
        {add}
      </Button>
    </fieldset>
  );
}
