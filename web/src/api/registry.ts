// Servers of the MCP registry: search, plans, installation and updates.
import { useMutation, useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';
import { useServerChange } from './servers';

export type RegistryEntry = Schemas['RegistryEntryResponse'];
export type RegistryInput = Schemas['RegistryInputResponse'];
export type RegistryPlan = Schemas['RegistryPlanResponse'];
export type InputProblem = Schemas['InputProblemResponse'];
export type ServerUpdate = Schemas['UpdateResponse'];
export type PlanBody = Schemas['PlanBody'];
export type InputValues = Record<string, string[]>;

// Variables of mutations may contain secrets, so they are not cached.
const NOT_CACHED = { gcTime: 0 };

const pathParams = (name: string) => ({ params: { path: { name } } });

export const useRegistrySearch = (search: string) =>
  useQuery({
    queryKey: ['registry', search],
    queryFn: () => unwrap(api.GET('/registry/servers', { params: { query: { search } } })),
    enabled: search !== '',
    retry: false,
  });

export const usePlanServer = () =>
  useMutation({ ...NOT_CACHED, mutationFn: (body: PlanBody) => unwrap(api.POST('/registry/plan', { body })) });

export const usePlanUpdate = (name: string) =>
  useMutation({
    ...NOT_CACHED,
    mutationFn: (values: InputValues) =>
      unwrap(api.POST('/servers/{name}/update/plan', { ...pathParams(name), body: { values } })),
  });

/** Install a server as it was reviewed. Fails if the plan has changed since. */
export const useInstallServer = () =>
  useServerChange((body: Schemas['InstallBody']) => unwrap(api.POST('/registry/install', { body })));

/** Update a server as it was reviewed. Fails if the plan has changed since. */
export const useUpdateServer = (name: string) =>
  useServerChange((body: Schemas['UpdateBody']) =>
    unwrap(api.POST('/servers/{name}/update', { ...pathParams(name), body })),
  );
