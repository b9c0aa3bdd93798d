import { Tabs } from '@mantine/core';
import { useState } from 'react';
import { parseJson, stringify } from '~/api/json';
import type { Bundle, Tool, ToolBody } from '~/api/tools';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { FormTab } from './FormTab';
import { JsonTab } from './JsonTab';
import { recipeFromJson, recipeFromTool, toDefinition } from './readRecipe';
import { EMPTY_RECIPE, toToolBody } from './recipe';
import type { Target } from './target';
import { useSaveTool } from './useSaveTool';
import { VersionFields } from './VersionFields';

/** The definition that the JSON tab shows for an empty recipe. */
const EXAMPLE = stringify(toToolBody({ ...EMPTY_RECIPE, url: 'https://api.example.com/cities/${city}' }));

interface Props {
  bundles: Bundle[];
  base: Tool | undefined;
  initialTarget: Target;
}

/** One draft, edited as a recipe or as JSON. */
export function EditorTabs({ bundles, base, initialTarget }: Props) {
  const messages = useMessages();
  const [target, setTarget] = useState(initialTarget);
  const [recipe, setRecipe] = useState(() => (base ? recipeFromTool(base) : EMPTY_RECIPE));
  /** The text of the JSON tab, or null in the recipe tab. */
  const [text, setText] = useState(() => (base && !recipe ? stringify(toDefinition(base)) : null));
  const [tab, setTab] = useState(recipe ? 'recipe' : 'json');
  const [notice, setNotice] = useState(recipe ? '' : messages.editor.jsonOnly);
  const saving = useSaveTool();
  const updateTarget = (changes: Partial<Target>) => setTarget((current) => ({ ...current, ...changes }));
  const save = (body: ToolBody) =>
    void saving.save(
      target,
      () => body,
      (bundle) => updateTarget({ bundle }),
    );
  const readRecipe = () => {
    if (text === null) return recipe;
    return text === EXAMPLE ? EMPTY_RECIPE : recipeFromJson(parseJson(text));
  };
  const changeTab = (newTab: string | null) => {
    if (newTab === null || newTab === tab) return;
    const newRecipe = readRecipe();
    if (!newRecipe) {
      const isJson = text !== null && parseJson(text) !== undefined;
      setNotice(isJson ? messages.editor.jsonOnly : messages.errors.json);
      return;
    }
    setNotice('');
    setRecipe(newRecipe);
    if (newTab === 'recipe') setText(null);
    else setText(newRecipe === EMPTY_RECIPE ? EXAMPLE : stringify(toToolBody(newRecipe)));
    setTab(newTab);
  };
  const versionFields = (
    <VersionFields
      target={target}
      bundles={bundles}
      isNewVersion={base !== undefined}
      errors={saving.fieldErrors}
      onChange={updateTarget}
    />
  );
  const common = { versionFields, saving, onSave: save };
  return (
    <Tabs value={tab} onChange={changeTab} keepMounted={false}>
      {notice && <Notice tone="warning">{notice}</Notice>}
      <Tabs.List mb="md">
        <Tabs.Tab value="recipe">{messages.editor.recipeTab}</Tabs.Tab>
        <Tabs.Tab value="json">{messages.editor.jsonTab}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="recipe">{recipe && <FormTab {...common} recipe={recipe} onChange={setRecipe} />}</Tabs.Panel>
      <Tabs.Panel value="json">
        <JsonTab {...common} text={text ?? ''} onChange={setText} />
      </Tabs.Panel>
    </Tabs>
  );
}
