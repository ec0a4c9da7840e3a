// biome-ignore-all lint/suspicious/noTemplateCurlyInString: exceptions quote source text
// biome-ignore-all lint/suspicious/noExplicitAny: the parser gives nodes of its syntax tree without types
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { analyse } from 'scslre'
import { parseAst } from 'vite'
import { root } from './root.mjs'

// Refuses regular expressions whose time grows faster than their input: `node scripts/regular-expressions.ts`.
// A backtracking matcher takes quadratic or exponential time when two repetitions can take the same characters, or when
// a repetition can begin at each of them.

interface Exception {
  file: string
  /** As it is written. */
  expression: string
  reason: string
}

const EXCEPTIONS: readonly Exception[] = [
  {
    file: 'protocol/format.ts',
    expression: String.raw`/\B(?=(\d{3})+$)/g`,
    reason: 'reads the digits of one number',
  },
  {
    file: 'client/sdk/options.ts',
    expression: String.raw`/\/+$/`,
    reason: 'reads the address that the caller configured',
  },
  {
    file: 'client/cli/command-line.ts',
    expression: String.raw`/^Option '.*?--([\w-]+)\b.*' argument (?:missing|is ambiguous)/`,
    reason: 'reads what Node says about an argument of the person who runs the command',
  },
  {
    file: 'protocol/ignore/glob.ts',
    expression: String.raw`/\*\*\/|\/\*\*$|\*+|\?|\[(?:[!^]?\](?:\\.|[^\]\\])*|(?:\\.|[^\]\\])*)\]|\\.|./gsu`,
    reason: 'the caller stops at the first bracket that is not closed, the only part that is read twice',
  },
  {
    file: 'server/domains/dns-check.ts',
    expression: String.raw`/^[\s"]+|[\s"]+$/g`,
    reason: 'reads 255 characters at most',
  },
  {
    file: 'server/publish/archive/tar-header.ts',
    expression: String.raw`/^[ \0]+|[ \0].*$/gs`,
    reason: 'reads a field of 12 bytes at most',
  },
  {
    file: 'dashboard/app/routes.tsx',
    expression: "new RegExp(`^/(?:${FIRST_SEGMENTS.join('|')})?(?:[/?#]|$)`)",
    reason: 'its parts are the fixed segments of the paths of pages, without repetitions',
  },
  {
    file: 'server/site-rules/parse/header-line.ts',
    expression: "new RegExp(`^[\\\\s=]*(?:__Host-)?(${RESERVED_NAMES})\\\\s*(?:=|$)`, 'i')",
    reason: 'between the repetitions stands a fixed name, which neither can take',
  },
  {
    file: 'dashboard/site/head-tags.ts',
    expression: "new RegExp(mark, 'i')",
    reason: 'each mark is a constant without repetition',
  },
  {
    file: 'server/publish/secrets/secret-rules.ts',
    expression: "new RegExp([...BY_END].map(toSource).join('|'), 'g')",
    reason: 'its parts are fixed texts',
  },
  {
    file: 'server/api/unrouted.ts',
    expression: "new RegExp(`^${segments.join('/')}$`)",
    reason: 'the table of routes has at most one star in an address, at its end',
  },
  {
    file: 'protocol/ignore/glob.ts',
    expression: "new RegExp(`^[${negated ? '^' : ''}${inside}]$`, ignoreCase ? 'isu' : 'su')",
    reason: 'reads one character',
  },
  {
    file: 'protocol/ignore/glob.ts',
    expression: "new RegExp(`^${literal.replace(/[\\\\^$.*+?()[\\]{}|/]/g, '\\\\$&')}$`, 'isu')",
    reason: 'has no repetition',
  },
]

/** A regular expression of the source, as it is written. */
interface SourceExpression {
  expression: string
  line: number
  /** Undefined when the text of the expression is only known when it runs. */
  pattern: string | undefined
  flags: string
}

type Node = { type: string; start: number; end: number } & Record<string, unknown>

/** A sentence for each regular expression of a source file that is too slow and no exception. */
export function findSlowExpressions(file: string, source: string): string[] {
  return expressionsIn(source, file).flatMap((found) => {
    if (exceptionFor(file, found)) return []
    const problem = findProblem(found)
    return problem === undefined ? [] : [`${file}:${found.line} ${found.expression} ${problem}`]
  })
}

function exceptionFor(file: string, { expression }: SourceExpression): Exception | undefined {
  return EXCEPTIONS.find((one) => one.file === file && one.expression === expression)
}

function findProblem({ pattern, flags }: SourceExpression): string | undefined {
  if (pattern === undefined) return 'is made of parts that this check cannot see'
  const { reports } = analyse({ source: pattern, flags }, { maxReports: 1 })
  const [report] = reports
  if (!report) return undefined
  const time = report.exponential ? 'exponential' : 'quadratic'
  return `takes ${time} time for repeated ${JSON.stringify(report.character.pick)}`
}

function expressionsIn(source: string, file: string): SourceExpression[] {
  const found: SourceExpression[] = []
  const constants = new Map<string, Node>()
  const add = ({ start, end }: Node, pattern: string | undefined, flags: string) => {
    const line = source.slice(0, start).split('\n').length
    found.push({ expression: source.slice(start, end), line, pattern, flags })
  }
  visit(parseAst(source, { lang: file.endsWith('x') ? 'tsx' : 'ts' }), (node) => {
    const { type, id, init, regex, callee, arguments: given, key, value } = node as Record<string, any>
    if (type === 'VariableDeclarator' && init) constants.set(id.name, init)
    else if (type === 'Literal' && regex) add(node, regex.pattern, regex.flags)
    else if ((type === 'NewExpression' || type === 'CallExpression') && callee.name === 'RegExp') {
      add(node, evaluateText(given[0], constants), evaluateText(given[1], constants) ?? '')
    } else if (type === 'Property' && key.name === 'pattern' && typeof value.value === 'string') {
      // Of a JSON Schema, where patterns have this flag.
      add(value, value.value, 'u')
    }
  })
  return found
}

/** The text of a constant expression; undefined when it depends on more than constants of the same file. */
function evaluateText(node: any, constants: ReadonlyMap<string, Node>): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node?.type === 'Identifier' && constants.has(node.name)) {
    return evaluateText(constants.get(node.name), constants)
  }
  if (node?.type !== 'TemplateLiteral') return undefined
  const parts: (string | undefined)[] = node.expressions.map((part: Node) => evaluateText(part, constants))
  if (parts.includes(undefined)) return undefined
  return node.quasis.map(({ value }: any, at: number) => value.cooked + (parts[at] ?? '')).join('')
}

function visit(node: unknown, each: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (typeof (node as Node).type === 'string') each(node as Node)
  for (const child of Object.values(node)) visit(child, each)
}

function checkAll(): string[] {
  const unused = new Set(EXCEPTIONS)
  const problems = globSync('{client,dashboard,packages,protocol,server}/**/*.{ts,tsx,js}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  }).flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8')
    for (const found of expressionsIn(source, file)) unused.delete(exceptionFor(file, found)!)
    return findSlowExpressions(file, source)
  })
  return [...problems, ...[...unused].map(({ file, expression }) => `${file} no longer has ${expression}`)]
}

if (import.meta.main) {
  const problems = checkAll()
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
