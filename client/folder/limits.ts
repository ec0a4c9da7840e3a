import { bound, figure, size } from '../words.ts'

/** What the service allows, in bytes and files; what is not said is not looked at. */
export interface FolderLimits {
  files: number
  fileBytes?: number
  siteBytes?: number
}

/** A file as far as its name and size go. */
export interface NamedFile {
  /** Path in the site: relative, with `/` between names, in Unicode NFC. */
  path: string
  /** The same as the disk spells it. */
  local: string
  /** In bytes. */
  size: number
}

/** Limits of the service that no setting changes (spec 8.2). */
const SPEC: FolderLimits = { files: 1000 }
const LONGEST_PATH = 500
/** Names said before it is enough. */
const MOST_NAMED = 10

/** Everything in the folder that the service would refuse, as sentences. Empty when it would not. */
export function refusals(files: readonly NamedFile[], limits: FolderLimits = SPEC): string[] {
  return [
    ...tooMany(files, limits.files),
    ...few(files.flatMap((file) => refusal(file, limits) ?? [])),
    ...tooMuch(files, limits),
    ...twins(files, 'NFC'),
    ...alsoFolders(files),
  ]
}

/** What stands against this file alone, whatever is beside it. */
export function refusal(file: NamedFile, { fileBytes = Infinity }: FolderLimits): string | undefined {
  if (file.size > fileBytes)
    return `${file.path}: ${size(file.size)}; a file can have at most ${bound(fileBytes)}`
  return badPath(file.path)
}

/** Names that differ only in case: legal, but one machine in two cannot hold both. */
export function caseTwins(files: readonly NamedFile[]): string[] {
  return twins(files, 'case')
}

function tooMany(files: readonly NamedFile[], most: number): string[] {
  if (files.length <= most) return []
  const folders = new Map<string, number>()
  for (const { path } of files) {
    const slash = path.indexOf('/')
    if (slash > 0) folders.set(path.slice(0, slash + 1), (folders.get(path.slice(0, slash + 1)) ?? 0) + 1)
  }
  const largest = [...folders].sort((a, b) => b[1] - a[1]).slice(0, 3)
  const where = largest.map(([folder, count]) => `${folder} has ${figure(count)}`).join(', ')
  const sentence = `${figure(files.length)} files; a site can have at most ${figure(most)}`
  return [where ? `${sentence} (${where})` : sentence]
}

function tooMuch(files: readonly NamedFile[], { siteBytes = Infinity }: FolderLimits): string[] {
  const total = files.reduce((sum, file) => sum + file.size, 0)
  return total > siteBytes ? [`${size(total)} together; a site can have at most ${bound(siteBytes)}`] : []
}

function badPath(path: string): string | undefined {
  const length = [...path].length
  if (length > LONGEST_PATH) return `${path.slice(0, 60)}…: ${length} characters; a path can have at most 500`
  if (path.includes('\\')) return `${path}: a backslash cannot be part of a path`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return `${JSON.stringify(path)}: has a control character`
  if (path.includes('\uFFFD') || !isWellFormed(path)) return `${path}: its name is not valid UTF-8`
  if (/^\/|(^|\/)\.{1,2}(\/|$)/.test(path)) return `${path}: leads out of the folder`
  if (/\/\/|^$/.test(path)) return `${path}: has an empty name in it`
  return undefined
}

/** `String.prototype.isWellFormed` is not in Node 18. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

function twins(files: readonly NamedFile[], kind: 'NFC' | 'case'): string[] {
  const groups = new Map<string, NamedFile[]>()
  for (const file of files) {
    const name = kind === 'NFC' ? file.path : file.path.toLowerCase()
    const group = groups.get(name)
    if (group) group.push(file)
    else groups.set(name, [file])
  }
  const sentences = [...groups].flatMap(([name, group]) => {
    if (group.length < 2) return []
    const written = [...new Set(group.map(({ local }) => local))]
    if (kind === 'case') return `${written.join(' and ')} differ only in case`
    const times = `${name} is there ${group.length} times`
    if (written.length < 2) return times
    return `${times}, written in different Unicode forms: ${written.map(ascii).join(' and ')}`
  })
  return few(sentences)
}

/** Disks cannot hold such a pair, archives can. */
function alsoFolders(files: readonly NamedFile[]): string[] {
  const paths = new Set(files.map(({ path }) => path))
  const both = new Set<string>()
  for (const path of paths) {
    if (path.length > 2 * LONGEST_PATH) continue
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
      if (paths.has(path.slice(0, at))) both.add(path.slice(0, at))
    }
  }
  return few([...both].map((path) => `${path} is a file here and a folder of others`))
}

/** Names that look alike are told apart by their code points. */
function ascii(name: string): string {
  return name.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

function few(sentences: string[]): string[] {
  const rest = sentences.length - MOST_NAMED
  return rest > 0 ? [...sentences.slice(0, MOST_NAMED), `and ${rest} more like these`] : sentences
}
