// The same call as a curl command, a CLI command and Python code.
import { invokePath, type Tool } from '~/api/tools';

type Args = Record<string, unknown>;

const MAX_DEPTH = 100;
const IDENTIFIER = /^[A-Za-z_]\w*$/;
const PYTHON_KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from ' +
    'global if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Quote text for a POSIX shell. */
export const quoteShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Format a JSON value as a Python literal. Values nested deeper than `MAX_DEPTH` become `...`. */
export function toPythonLiteral(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (depth > MAX_DEPTH) return '...';
  if (Array.isArray(value)) return `[${value.map((item) => toPythonLiteral(item, depth + 1)).join(', ')}]`;
  if (typeof value === 'object') {
    const items = Object.entries(value).map(
      ([key, item]) => `${JSON.stringify(key)}: ${toPythonLiteral(item, depth + 1)}`,
    );
    return `{${items.join(', ')}}`;
  }
  return JSON.stringify(value);
}

/** Format keyword arguments. Names that are not valid in Python are passed as `**{...}`. */
export function formatKeywords(args: Args): string {
  const isValidName = (name: string) => IDENTIFIER.test(name) && !PYTHON_KEYWORDS.has(name);
  const entries = Object.entries(args);
  const keywords = entries
    .filter(([name]) => isValidName(name))
    .map(([name, value]) => `${name}=${toPythonLiteral(value)}`);
  const others = entries.filter(([name]) => !isValidName(name));
  if (others.length) keywords.push(`**${toPythonLiteral(Object.fromEntries(others))}`);
  return keywords.join(', ');
}

export function toCurl(tool: Tool, args: Args): string {
  const lines = [
    `curl -X POST ${quoteShell(location.origin + invokePath(tool))}`,
    `-H "Authorization: Bearer $ONETOOL_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoteShell(JSON.stringify({ args }))}`,
  ];
  return lines.join(' \\\n  ');
}

export function toCliCommand(tool: Tool, args: Args): string {
  return `onetool run ${quoteShell(`${tool.name}(${formatKeywords(args)})`)}`;
}

export function toPython(tool: Tool, args: Args): string {
  const name = tool.isBuiltIn ? tool.name : `${tool.name}@${tool.version}`;
  const callArgs = [JSON.stringify(name), formatKeywords(args)].filter(Boolean).join(', ');
  return `from onetool import onetool_runtime\n\nwith onetool_runtime() as ot:\n    print(ot.call(${callArgs}))\n`;
}
