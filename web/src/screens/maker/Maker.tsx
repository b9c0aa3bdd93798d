// A new tool, or a new version of one: by a recipe, or as JSON.
import { Tabs } from '@mantine/core';
import { useState } from 'react';
import { Link, useParams, useSearchParams } from 'wouter';
import { decoded } from '~/api/address';
import { parsed, written } from '~/api/json';
import { type Bundle, type Tool, type ToolBody, useBundles, useVersions } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Head, Note, Shown } from '~/parts/parts';
import { mainOf } from '~/screens/tools/rows';
import page from '~/screens/tools/toolPage.module.css';
import { NEW, Place, type PlaceOf } from './Place';
import { BLANK, bodyOf, definitionOf, recipeIn, recipeOf } from './recipe';
import { RecipeMode } from './RecipeMode';
import { useSave } from './useSave';
import { nextVersion } from './versions';
import { WholeMode } from './WholeMode';

export default function Maker() {
  const words = useWords();
  const { bundle, tool } = useParams();
  const [search] = useSearchParams();
  return (
    <>
      <Link href="/tools" className={page.back}>
        <Icon name="left" size={15} /> {words.tool.back}
      </Link>
      {bundle && tool ? (
        <NewVersion bundle={bundle} slug={decoded(tool)} version={search.get('version')} />
      ) : (
        <Modes title={words.maker.title} bundle={search.get('bundle')} from={null} />
      )}
    </>
  );
}

function NewVersion({ bundle, slug, version }: { bundle: string; slug: string; version: string | null }) {
  const words = useWords();
  const versions = useVersions(bundle, slug);
  return (
    <Shown asked={versions}>
      {(all) => {
        const from = all.find((one) => one.version === version) ?? (all.length ? mainOf(all) : null);
        return <Modes title={words.maker.versionTitle(slug)} bundle={bundle} from={from} taken={all.map((one) => one.version)} />;
      }}
    </Shown>
  );
}

function Modes({ title, bundle, from, taken = [] }: { title: string; bundle: string | null; from: Tool | null; taken?: string[] }) {
  const words = useWords();
  const bundles = useBundles();
  return (
    <>
      <Head title={title} lead={words.maker.lead} />
      <Shown asked={bundles}>
        {(all) => {
          const own = all.filter((one) => one.origin === 'bundle' && one.isEnabled);
          const place = { bundle: bundle ?? own[0]?.id ?? NEW, bundleName: '', slug: from?.slug ?? '', version: nextVersion(taken) };
          return <Desk bundles={own} from={from} start={place} />;
        }}
      </Shown>
    </>
  );
}

/** One draft, that can be looked at in two ways. */
function Desk({ bundles, from, start }: { bundles: Bundle[]; from: Tool | null; start: PlaceOf }) {
  const words = useWords();
  const [place, setPlace] = useState(start);
  const [recipe, setRecipe] = useState(() => (from ? recipeOf(from) : BLANK));
  const [text, setText] = useState(() => (recipe ? null : written(definitionOf(from!))));
  const [mode, setMode] = useState(recipe ? 'recipe' : 'json');
  const [note, setNote] = useState(recipe ? '' : words.maker.onlyJson);
  const saving = useSave();
  const move = (part: Partial<PlaceOf>) => setPlace((before) => ({ ...before, ...part }));
  const save = (body: ToolBody) => void saving.save(place, body, (id) => move({ bundle: id }));
  const turn = (to: string | null) => {
    if (to === mode) return;
    const json = text === null ? undefined : parsed(text);
    const read = text === null ? recipe : text === written(EXAMPLE) ? BLANK : recipeIn(json);
    setNote(read ? '' : json === undefined ? words.tester.badJson : words.maker.onlyJson);
    if (!read) return;
    setRecipe(read);
    setText(to === 'json' ? written(read === BLANK ? EXAMPLE : bodyOf(read)) : null);
    setMode(to ?? mode);
  };
  const common = { saving, onSave: save, where: <Place place={place} bundles={bundles} isFixed={from !== null} errors={saving.fields} set={move} /> };
  return (
    <Tabs value={mode} onChange={turn} keepMounted={false}>
      {note && <Note mood="warn">{note}</Note>}
      <Tabs.List mb="md">
        <Tabs.Tab value="recipe">{words.maker.recipe}</Tabs.Tab>
        <Tabs.Tab value="json">{words.maker.json}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="recipe">{recipe && <RecipeMode {...common} recipe={recipe} onRecipe={setRecipe} />}</Tabs.Panel>
      <Tabs.Panel value="json">
        <WholeMode {...common} text={text ?? ''} onText={setText} />
      </Tabs.Panel>
    </Tabs>
  );
}

/** A definition to begin with. */
const EXAMPLE = bodyOf({ ...BLANK, url: 'https://api.example.com/cities/${city}' });
