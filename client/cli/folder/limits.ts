import { figure } from '../../words.ts'
import type { FoundFile } from './scan.ts'

/** Limits of the service (spec 8.2). */
const MOST_FILES = 1000
const LONGEST_PATH = 500
/** Names said before it is enough. */
const MOST_NAMED = 10

/** Everything in the folder that the service would refuse, as sentences. Empty when it would not. */
export function refusals(files: FoundFile[]): string[] {
  return [...tooMany(files), ...badPaths(files), ...twins(files, 'NFC')]
}

/** Names that differ only in case: legal, but one machine in two cannot hold both. */
export function caseTwins(files: FoundFile[]): string[] {
  return twins(files, 'case')
}

function tooMany(files: FoundFile[]): string[] {
  if (files.length <= MOST_FILES) return []
  const folders = new Map<string, number>()
  for (const { path } of files) {
    const slash = path.indexOf('/')
    if (slash > 0) folders.set(path.slice(0, slash + 1), (folders.get(path.slice(0, slash + 1)) ?? 0) + 1)
  }
  const largest = [...folders].sort((a, b) => b[1] - a[1]).slice(0, 3)
  const where = largest.map(([folder, count]) => `${folder} has ${figure(count)}`).join(', ')
  const sentence = `${figure(files.length)} files; a site can have at most 1,000`
  return [where ? `${sentence} (${where})` : sentence]
}

function badPaths(files: FoundFile[]): string[] {
  return few(files.flatMap(({ path }) => badPath(path) ?? []))
}

function badPath(path: string): string | undefined {
  const length = [...path].length
  if (length > LONGEST_PATH) return `${path.slice(0, 60)}…: ${length} characters; a path can have at most 500`
  if (path.includes('\\')) return `${path}: a backslash cannot be part of a path`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(path)) return `${JSON.stringify(path)}: has a control character`
  if (path.includes('\uFFFD')) return `${path}: its name is not valid UTF-8`
  return undefined
}

function twins(files: FoundFile[], kind: 'NFC' | 'case'): string[] {
  const groups = new Map<string, FoundFile[]>()
  for (const file of files) {
    const name = kind === 'NFC' ? file.path : file.path.toLowerCase()
    const group = groups.get(name)
    if (group) group.push(file)
    else groups.set(name, [file])
  }
  const said = kind === 'NFC' ? 'are the same path once Unicode is normalized' : 'differ only in case'
  const shown = ({ local }: FoundFile) => (kind === 'NFC' ? ascii(local) : local)
  const sentences = [...groups.values()].flatMap((group) =>
    group.length < 2 ? [] : `${group.map(shown).join(' and ')} ${said}`,
  )
  return few(sentences)
}

/** Names that look alike are told apart by their code points. */
function ascii(name: string): string {
  return name.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

function few(sentences: string[]): string[] {
  const rest = sentences.length - MOST_NAMED
  return rest > 0 ? [...sentences.slice(0, MOST_NAMED), `and ${rest} more like these`] : sentences
}
