// A new tool, or a new version of one: by a recipe, or as JSON.
import { Tabs } from '@mantine/core';
import { useMemo } from 'react';
import { Link, useParams, useSearchParams } from 'wouter';
import { type Tool, useBundles, useVersions } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Head, Note, Shown } from '~/parts/parts';
import { mainOf } from '~/screens/tools/rows';
import page from '~/screens/tools/toolPage.module.css';
import { BLANK, bodyOf, definitionOf, type Recipe, recipeOf } from './recipe';
import { RecipeMode } from './RecipeMode';
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
        <NewVersion bundle={bundle} slug={decodeURIComponent(tool)} version={search.get('version')} />
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
  const start = useMemo(() => (from ? recipeOf(from) : BLANK), [from]);
  const version = nextVersion(taken);
  return (
    <>
      <Head title={title} lead={words.maker.lead} />
      {!start && <Note mood="warn">{words.maker.onlyJson}</Note>}
      <Shown asked={bundles}>
        {(all) => {
          const own = all.filter((one) => one.origin === 'bundle' && one.isEnabled);
          const common = { bundles: own, bundle, isFixed: from !== null };
          return (
            <Tabs defaultValue={start ? 'recipe' : 'json'} keepMounted={false}>
              <Tabs.List mb="md">
                {start && <Tabs.Tab value="recipe">{words.maker.recipe}</Tabs.Tab>}
                <Tabs.Tab value="json">{words.maker.json}</Tabs.Tab>
              </Tabs.List>
              {start && (
                <Tabs.Panel value="recipe">
                  <RecipeMode {...common} start={{ ...start, version }} />
                </Tabs.Panel>
              )}
              <Tabs.Panel value="json">
                <WholeMode {...common} slug={from?.slug ?? ''} version={version} start={from ? definitionOf(from) : example(start ?? BLANK)} />
              </Tabs.Panel>
            </Tabs>
          );
        }}
      </Shown>
    </>
  );
}

/** A definition to begin with. */
function example(blank: Recipe) {
  return bodyOf({ ...blank, description: '', url: 'https://api.example.com/cities/${city}' });
}
