import { useState } from 'react';
import { useLocation } from 'wouter';
import { Problem } from '~/api/problem';
import { type BundleBody, type ToolBody, useCreateBundle, usePutTool } from '~/api/tools';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { toolPath } from '~/screens/tools/paths';
import { NEW_BUNDLE, type Target } from './target';

/** Save a tool, and create its bundle first if necessary. */
export function useSaveTool() {
  const messages = useMessages();
  const [, navigate] = useLocation();
  const bundleCreation = useCreateBundle();
  const toolCreation = usePutTool();
  const [error, setError] = useState<unknown>(null);
  const save = async (
    target: Target,
    createBody: () => ToolBody | Promise<ToolBody>,
    onBundle: (id: string) => void,
  ) => {
    setError(null);
    try {
      const body = await createBody();
      const bundleID =
        target.bundle === NEW_BUNDLE
          ? await createBundle(bundleCreation.mutateAsync, target.bundleSlug)
          : target.bundle;
      onBundle(bundleID); // if the tool is invalid, the next attempt uses the same bundle
      const key = { bundleID, slug: target.slug.trim(), version: target.version.trim() };
      const tool = await toolCreation.mutateAsync({ key, body }).catch(throwAtVersion);
      notify(messages.editor.saved(tool.slug));
      navigate(toolPath(tool));
    } catch (problem) {
      setError(problem);
    }
  };
  const fieldErrors = error instanceof Problem ? error.fields : {};
  return { save, error, fieldErrors, isSaving: bundleCreation.isPending || toolCreation.isPending };
}

/** Report that a version exists for the field of the version. */
function throwAtVersion(error: unknown): never {
  if (!(error instanceof Problem) || error.status !== 409) throw error;
  throw new Problem(error.status, error.message, { version: error.message, ...error.fields });
}

/** Create a bundle. Errors are reported for the field of the bundle's name. */
async function createBundle(create: (body: BundleBody) => Promise<{ id: string }>, slug: string): Promise<string> {
  try {
    const bundle = await create({ slug: slug.trim(), displayName: '', description: '', isEnabled: true });
    return bundle.id;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.status, error.message, { bundleSlug: error.fields.slug ?? error.message });
  }
}
