// Programs of tools made of code: their literals, their parameters and the programs of steps.
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';
import type { ToolBody } from './tools';

export type CodeImpl = NonNullable<ToolBody['codeImpl']>;
/** What a tool made of steps has. The server writes its program. */
export type StepsImpl = { steps: CodeStep[]; result?: { from: string } | null };
export type CodeStep = Schemas['CodeStep'];
export type StepValue = Schemas['StepValue'];
export type Condition = Schemas['StepCondition'];
export type Literal = Schemas['LiteralResponse'];
export type LiteralParameter = Required<Schemas['ParameterBody']>;
type ArgSchema = ToolBody['argSchema'];

/** Load the literals of a program that can become parameters. */
export const useLiterals = (code: string) =>
  useQuery({
    queryKey: ['code', 'literals', code],
    queryFn: () => unwrap(api.POST('/code/literals', { body: { code } })),
    staleTime: Infinity,
    retry: false,
  });

/** Replace literals of a program by parameters. Return the new program and the schema of its parameters. */
export const replaceLiterals = (code: string, parameters: LiteralParameter[]) =>
  unwrap(api.POST('/code/parameters', { body: { code, parameters } }));

/** Load the program with some of its literals replaced. */
export const useReplacedLiterals = (code: string, parameters: LiteralParameter[]) =>
  useQuery({
    queryKey: ['code', 'parameters', code, parameters],
    queryFn: () => replaceLiterals(code, parameters),
    staleTime: Infinity,
    retry: false,
  });

/** Return whether a tool is made of steps. */
export const isStepsImpl = (codeImpl: CodeImpl | null | undefined): codeImpl is CodeImpl & StepsImpl =>
  Array.isArray(codeImpl?.steps);

/** Load the program that steps make. */
export const useStepsProgram = (codeImpl: StepsImpl, argSchema: ArgSchema, isEnabled: boolean) =>
  useQuery({
    queryKey: ['code', 'steps', codeImpl, argSchema],
    queryFn: async () => (await unwrap(api.POST('/code/steps', { body: { ...codeImpl, argSchema } }))).program,
    enabled: isEnabled,
    staleTime: Infinity,
    retry: false,
  });
