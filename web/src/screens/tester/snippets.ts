// A call, written as other people would make it: in a shell, in `run`, in Python.
import { invokePath, type Tool } from '~/api/tools';

type Args = Record<string, unknown>;

/** Quote for a POSIX shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Deeper than this nobody writes by hand. */
const DEEPEST = 100;

/** A JSON value as Python writes it. */
export function literal(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (depth > DEEPEST) return '...';
  if (Array.isArray(value)) return `[${value.map((one) => literal(one, depth + 1)).join(', ')}]`;
  if (typeof value === 'object') return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${literal(one, depth + 1)}`).join(', ')}}`;
  return JSON.stringify(value);
}

const NAME = /^[A-Za-z_]\w*$/;
const WORDS = new Set('False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(' '));

/** Arguments by keyword; names that Python does not take go in as a dictionary. */
export function keywords(args: Args): string {
  const isPlain = (name: string) => NAME.test(name) && !WORDS.has(name);
  const plain = Object.entries(args).filter(([name]) => isPlain(name));
  const odd = Object.entries(args).filter(([name]) => !isPlain(name));
  const parts = plain.map(([name, value]) => `${name}=${literal(value)}`);
  if (odd.length) parts.push(`**${literal(Object.fromEntries(odd))}`);
  return parts.join(', ');
}

export function asCurl(tool: Tool, args: Args): string {
  const lines = [
    `curl -X POST ${quoted(location.origin + invokePath(tool))}`,
    `-H "Authorization: Bearer $ONETOOL_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify({ args }))}`,
  ];
  return lines.join(' \\\n  ');
}

export function asRun(tool: Tool, args: Args): string {
  return `onetool run ${quoted(`${tool.name}(${keywords(args)})`)}`;
}

export function asPython(tool: Tool, args: Args): string {
  const name = tool.isBuiltIn ? tool.name : `${tool.name}@${tool.version}`;
  const given = keywords(args);
  return `from onetool import onetool_runtime\n\nwith onetool_runtime() as ot:\n    print(ot.call(${[JSON.stringify(name), given].filter(Boolean).join(', ')}))\n`;
}
