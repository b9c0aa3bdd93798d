// Saving a definition, in a bundle that may have to be made first.
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Problem } from '~/api/problem';
import { type ToolBody, usePutBundle, usePutTool } from '~/api/tools';
import { useWords } from '~/i18n';
import { tell } from '~/parts/notify';
import { pageOf } from '~/screens/tools/ToolRow';
import { NEW, type PlaceOf } from './Place';

export function useSave() {
  const words = useWords();
  const [, go] = useLocation();
  const bundling = usePutBundle();
  const putting = usePutTool();
  const [error, setError] = useState<unknown>(null);
  const save = async (place: PlaceOf, body: ToolBody, onBundle: (id: string) => void) => {
    setError(null);
    try {
      const bundleID = place.bundle === NEW ? await newBundle(bundling.mutateAsync, place.bundleName) : place.bundle;
      onBundle(bundleID); // made once, however often the tool itself has to be mended
      const tool = await putting.mutateAsync({ key: { bundleID, slug: place.slug.trim(), version: place.version.trim() }, body });
      tell(words.maker.saved(tool.slug));
      go(pageOf(tool));
    } catch (problem) {
      setError(problem);
    }
  };
  const fields = error instanceof Problem ? error.fields : {};
  return { save, error, fields, isSaving: bundling.isPending || putting.isPending };
}

type Put = ReturnType<typeof usePutBundle>['mutateAsync'];

async function newBundle(put: Put, slug: string): Promise<string> {
  try {
    return (await put({ body: { slug: slug.trim(), displayName: '', description: '', isEnabled: true } })).id;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.status, error.message, { bundleName: error.fields.slug ?? error.message });
  }
}
