import { isUtf8 } from 'node:buffer'
import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/** What `node --env-file` has read. */
export interface SettingsFile {
  /** One line for each part of the file that Node ignores or replaces. */
  problems: readonly string[]
  /** Where a variable got this value; undefined when it has it from elsewhere. */
  findPlace(name: string, value: string | undefined): string | undefined
}

const ASSIGNMENT = /^(?:export\s+)?([\w.-]+)\s*=(.*)$/s

/** A line within a quoted value that sets another setting: the quote was not closed. */
const SETTING = /^(?:export\s+)?SLIPWAY_\w+\s*=/

/** The settings files in the arguments of Node, those of higher precedence first. */
export function readSettingsFiles(nodeArguments: readonly string[]): SettingsFile[] {
  const paths = nodeArguments.flatMap(
    (argument) => /^--env-file(?:-if-exists)?=(.+)$/.exec(argument)?.[1] ?? [],
  )
  return paths
    .filter((path) => existsSync(path))
    .map((path) => inspect(path, readFileSync(path)))
    .reverse()
}

function inspect(path: string, bytes: Buffer): SettingsFile {
  const text = bytes.toString()
  if (!isUtf8(bytes) || text.includes('\0') || text.startsWith('\ufeff'))
    return {
      problems: [`${path} must be UTF-8 without a byte order mark: save it as that`],
      findPlace: () => undefined,
    }
  const values = parseEnv(text)
  const lines = new Map<string, number>()
  const problems: string[] = []
  const report = (line: number, problem: string) => problems.push(`${path}, line ${line + 1}: ${problem}`)
  for (const { name, value, line } of readAssignments(
    text.split('\n').map((line) => line.trim()),
    report,
  )) {
    const first = lines.get(name)
    if (first !== undefined) report(line, `${name} is set in line ${first + 1} already`)
    else lines.set(name, line)
    // Node begins a comment at any # outside of quotes.
    if (/^#|[^\s'"`]#/.test(value) && !/^['"`]/.test(value))
      report(line, `${name} ends before the # of its value: quote the value`)
  }
  return {
    problems,
    findPlace(name, value) {
      const line = lines.get(name)
      return line === undefined || values[name] !== value ? undefined : `${path}, line ${line + 1}`
    },
  }
}

function* readAssignments(
  lines: readonly string[],
  report: (line: number, problem: string) => void,
): Generator<{ name: string; value: string; line: number }> {
  for (let line = 0; line < lines.length; line++) {
    const text = lines[line]!
    if (text === '' || text.startsWith('#')) continue
    const [, name, given = ''] = ASSIGNMENT.exec(text) ?? []
    if (name === undefined) {
      report(line, 'it is neither NAME=value nor a comment')
      continue
    }
    const value = given.trimStart()
    yield { name, value, line }
    const end = findEndOfQuotes(lines, line, value)
    if (end === undefined) report(line, `the quote of ${name} is not closed`)
    else line = end
  }
}

/** The line that closes the quote which a value begins with, if any. */
function findEndOfQuotes(lines: readonly string[], line: number, value: string): number | undefined {
  const [quote] = /^['"`]/.exec(value) ?? []
  if (quote === undefined || value.includes(quote, 1)) return line
  for (let end = line + 1; end < lines.length && !SETTING.test(lines[end]!); end++)
    if (lines[end]!.includes(quote)) return end
  return undefined
}
