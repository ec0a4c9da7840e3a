import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SkipReason } from '../../protocol/ignore/exclusions.ts'

// Folders as people have them, and what is published of each, whatever the way.

/** How a folder is published. */
export const WAYS = [
  /** `slipway publish` */
  'command',
  /** The tool of `slipway mcp` that publishes a folder of the machine. */
  'publish_folder',
  /** `curl …/publish.sh | sh -s ./folder` */
  'publish.sh',
  /** A tar of GNU tar in one request. */
  'tar',
  /** A zip of Info-ZIP with links in one request, by `curl -T`. */
  'zip',
  /** The same zip, dropped into the browser. */
  'dropped zip',
  /** The folder, dropped into the browser. */
  'drop',
  /** JSON with the contents of the files. */
  'inline',
  /** The same, by the tool of an agent. */
  'publish_site',
] as const
export type Way = (typeof WAYS)[number]

/** Ways that are given files with their contents only. */
const CONTENTS: Way[] = ['inline', 'publish_site']
const ZIPS: Way[] = ['zip', 'dropped zip']

/** What a way makes of a folder that it cannot express. */
interface Difference {
  ways: Way[]
  because: string
  /** Changes of what is published, by path; undefined for what is not. */
  published?: Record<string, string | undefined>
  /** Changes of what is left out. */
  excluded?: Record<string, SkipReason | undefined>
  notes?: string[]
  refused?: RegExp | undefined
}

export interface OddFolder {
  what: string
  files?: Record<string, string | Buffer>
  /** Files whose names are in Latin-1. */
  latin1Files?: string[]
  /** Symbolic links: their targets by path. */
  links?: Record<string, string>
  /** Hard links: the path of the other name. */
  hardLinks?: Record<string, string>
  folders?: string[]
  pipes?: string[]
  sockets?: string[]
  /** Published beside `files`, or undefined for files that are not. */
  published?: Record<string, string | undefined>
  excluded?: Record<string, SkipReason>
  /** Sentences beside those about what is left out; `{}` stands for the folder of the row. */
  notes?: string[]
  /** Why nothing is published. */
  refused?: RegExp
  differences?: Difference[]
  /** Its rows are about the top of the folder; otherwise it is a folder in the one that all others share. */
  isTop?: true
  /** Only `npm run nightly` publishes it. */
  isLong?: true
}

const PUNCTUATION = ['!', '"', '#', '$', '%', '&', "'", '(', ')', '*', '+', ',', ';', '<', '=', '>', '?', '@']
const MORE = ['[', ']', '^', '`', '{', '|', '}', '~', '%41', '%2f', '%', 'a b', ' a', 'a ', 'a.', ':', '-x', '--help']

const NO_LINKS = 'has no links' as const
const links = (because: string, paths: string[], ways: Way[] = [...CONTENTS, 'drop']): Difference => ({
  ways,
  because,
  published: Object.fromEntries(paths.map((path) => [path, undefined])),
})

export const ODD_FOLDERS: OddFolder[] = [
  {
    what: 'empty files',
    files: { 'empty.css': '', 'a/empty.js': '', 'one.txt': '1' },
  },
  {
    what: 'empty folders',
    files: { 'index.html': 'x' },
    folders: ['nothing', 'a/b'],
  },
  {
    what: 'links inside',
    files: { 'real.txt': 'real', 'v1/a.txt': 'a', 'v1/b/c.txt': 'c', 'v1/empty.css': '' },
    links: { 'alias.txt': 'real.txt', 'v1/up.txt': '../real.txt', latest: 'v1', 'chain.txt': 'latest/b/../a.txt' },
    published: {
      ...{ 'alias.txt': 'real', 'v1/up.txt': 'real', 'chain.txt': 'a' },
      ...{ 'latest/a.txt': 'a', 'latest/b/c.txt': 'c', 'latest/empty.css': '', 'latest/up.txt': 'real' },
    },
    differences: [
      links(NO_LINKS, [
        ...['alias.txt', 'v1/up.txt', 'chain.txt'],
        ...['latest/a.txt', 'latest/b/c.txt', 'latest/empty.css', 'latest/up.txt'],
      ]),
    ],
  },
  {
    what: 'links outside, nowhere and in loops',
    files: { 'a/x.txt': 'x', 'b/y.txt': 'y' },
    folders: ['none'],
    links: {
      ...{ absolute: '/etc/hostname', above: '../../../../etc/hostname', out: '../../..', dangling: 'missing' },
      ...{ self: 'self', one: 'two', two: 'one', 'a/up': '..', 'a/to-b': '../b', 'b/to-a': '../a', empty: 'none' },
      // Above the folder and back into it, if the way up ended at the top.
      past: '../../links-outside-nowhere-and-in-loops/b/y.txt',
    },
    published: { 'a/to-b/y.txt': 'y', 'b/to-a/x.txt': 'x' },
    excluded: {
      ...{ absolute: 'link', above: 'link', out: 'link', dangling: 'link', self: 'link', one: 'link', two: 'link' },
      ...{ 'a/up': 'link', 'a/to-b/to-a': 'link', 'b/to-a/to-b': 'link', 'b/to-a/up': 'link', empty: 'link', past: 'link' },
    },
    differences: [
      {
        ...links(NO_LINKS, ['a/to-b/y.txt', 'b/to-a/x.txt']),
        excluded: Object.fromEntries(
          [
            ...['absolute', 'above', 'out', 'dangling', 'self', 'one', 'two', 'a/up', 'empty'],
            ...['a/to-b/to-a', 'b/to-a/to-b', 'b/to-a/up', 'past'],
          ].map((path) => [path, undefined]),
        ),
      },
    ],
  },
  {
    what: 'links to what is left out',
    files: { 'index.html': 'x', '.env': 'KEY=1', '.aws/token.json': 'KEY=2', 'node_modules/a/b.js': 'x', 'v/.env': 'x', 'v/a.txt': 'a' },
    links: {
      ...{ 'config.txt': '.env', aws: '.aws', 'token.json': '.aws/token.json', 'lib.js': 'node_modules/a/b.js' },
      ...{ lib: 'node_modules/a', '.hidden': 'index.html', w: 'v' },
    },
    published: {
      ...{ '.env': undefined, '.aws/token.json': undefined, 'node_modules/a/b.js': undefined, 'v/.env': undefined },
      'w/a.txt': 'a',
    },
    excluded: {
      ...{ '.env': 'secret', '.aws/': 'secret', 'node_modules/': 'dependencies', 'v/.env': 'secret' },
      ...{ 'config.txt': 'secret', aws: 'secret', 'token.json': 'secret', 'lib.js': 'dependencies', lib: 'dependencies' },
      '.hidden': 'dotfile',
    },
    differences: [
      {
        ...links(NO_LINKS, ['w/a.txt']),
        excluded: Object.fromEntries(
          ['config.txt', 'aws', 'token.json', 'lib.js', 'lib', '.hidden'].map((path) => [path, undefined]),
        ),
      },
    ],
  },
  {
    what: 'hard links',
    files: { 'a.txt': 'a', 'b/c.txt': 'c' },
    hardLinks: { 'b/a.txt': 'a.txt', 'c.txt': 'b/c.txt' },
    published: { 'b/a.txt': 'a', 'c.txt': 'c' },
  },
  {
    what: 'names in Unicode NFD',
    files: { 'cafe\u0301.html': 'nfd', 'ｆｕｌｌ.html': 'wide' },
    published: { 'cafe\u0301.html': undefined, 'caf\u00e9.html': 'nfd' },
  },
  {
    what: 'names with every punctuation, reserved and long names',
    files: {
      ...Object.fromEntries([...PUNCTUATION, ...MORE].map((name) => [`${name}.txt`, name])),
      ...{ 'con.html': 'con', 'aux.txt': 'aux', 'NUL/x.txt': 'nul', '__proto__/constructor.js': 'x' },
      ...{ 'COM1.txt': 'com', '...txt/x.js': 'x', 'a..b': 'dots' },
      [`${'long/'.repeat(60)}${'n'.repeat(100)}.txt`]: 'long',
      [`${'é'.repeat(120)}.txt`]: 'wide',
    },
    published: { '...txt/x.js': undefined },
    excluded: { '...txt/': 'dotfile' },
  },
  {
    what: 'names that differ only in case',
    files: { 'A.txt': 'A', 'a.txt': 'a' },
    notes: ['{}A.txt and {}a.txt differ only in case'],
  },
  {
    what: 'hidden, system and secret files',
    isTop: true,
    files: {
      ...{ '.well-known/security.txt': 'contact', '.well-known/.env': 'x', '.nojekyll': '', '..data/x': 'x' },
      ...{ '.DS_Store': 'x', '._a.txt': 'x', 'Thumbs.db': 'x', 'desktop.ini': 'x', '__MACOSX/._a': 'x' },
      ...{ 'a.txt~': 'x', '.a.txt.swp': 'x', '#a#': 'x', 'tls.pem': 'key', 'ID_RSA': 'key', '.ENV.local': 'x' },
      ...{ '.git/HEAD': 'ref', '.hg/x': 'x', 'node_modules/.bin/x': 'x', '.slipway/site.json': '{}' },
      ...{ 'keys.html': 'x', 'environment': 'x' },
    },
    folders: ['.svn', 'sub/.git'],
    published: Object.fromEntries(
      [
        ...['.well-known/.env', '.nojekyll', '..data/x', '.DS_Store', '._a.txt', 'Thumbs.db', 'desktop.ini'],
        ...['__MACOSX/._a', 'a.txt~', '.a.txt.swp', '#a#', 'tls.pem', 'ID_RSA', '.ENV.local', '.git/HEAD', '.hg/x'],
        ...['node_modules/.bin/x', '.slipway/site.json'],
      ].map((path) => [path, undefined]),
    ),
    excluded: {
      ...{ '.well-known/.env': 'secret', '.nojekyll': 'dotfile', '..data/': 'dotfile', '.DS_Store': 'system' },
      ...{ '._a.txt': 'system', 'Thumbs.db': 'system', 'desktop.ini': 'system', '__MACOSX/': 'system' },
      ...{ 'a.txt~': 'system', '.a.txt.swp': 'system', '#a#': 'system', 'tls.pem': 'secret', ID_RSA: 'secret' },
      ...{ '.ENV.local': 'secret', '.git/': 'repository', '.hg/': 'repository', '.svn/': 'repository' },
      ...{ 'sub/.git/': 'repository', 'node_modules/': 'dependencies' },
    },
    differences: [
      {
        ways: CONTENTS,
        because: 'has no empty folders',
        excluded: { '.svn/': undefined, 'sub/.git/': undefined },
      },
    ],
  },
  {
    what: 'pipes and sockets',
    files: { 'a.txt': 'a' },
    pipes: ['pipe'],
    sockets: ['socket'],
    excluded: { pipe: 'special', socket: 'special' },
    differences: [
      { ways: ['tar', 'publish.sh'], because: 'tar says itself that it ignores a socket', excluded: { socket: undefined } },
      {
        ways: [...ZIPS, ...CONTENTS],
        because: 'zip leaves out both, and a program reads neither',
        excluded: { pipe: undefined, socket: undefined },
      },
      {
        ways: ['drop'],
        because: 'a browser hands them over as empty files',
        published: { pipe: '', socket: '' },
        excluded: { pipe: undefined, socket: undefined },
      },
    ],
  },
  {
    what: 'folders whose index has another name',
    files: { 'INDEX.HTML': 'a', 'b/index.htm': 'b', 'c/Index.html': 'c', 'c/index.html': 'd', 'd/myindex.html': 'e' },
    published: { 'index.html': 'a', 'b/index.html': 'b' },
    notes: [
      '{}INDEX.HTML is also published as {}index.html',
      '{}b/index.htm is also published as {}b/index.html',
      '{}c/Index.html and {}c/index.html differ only in case',
    ],
  },
  {
    what: 'a .slipwayignore',
    isTop: true,
    files: {
      '.slipwayignore': '# drafts\n*.md\n/private/\n!.note\n!*.swp\n!.env\nv/x.txt\n/caf\u00e9/\n',
      ...{ 'index.html': 'x', 'a.md': 'x', 'private/a.txt': 'x', 'sub/private/a.txt': 'a', '.note': 'note' },
      ...{ 'sub/.note': 'n', 'b.swp': 'b', '.other': 'x', '.env': 'KEY=1', 'v/x.txt': 'x', 'v/y.txt': 'y' },
      ...{ 'node_modules/x.js': 'x', 'cafe\u0301/x.txt': 'x' },
    },
    links: { w: 'v', 'linked.txt': 'a.md' },
    published: {
      ...{ '.slipwayignore': undefined, 'a.md': undefined, 'private/a.txt': undefined, '.other': undefined },
      ...{ '.env': undefined, 'v/x.txt': undefined, 'node_modules/x.js': undefined, 'w/y.txt': 'y' },
      'cafe\u0301/x.txt': undefined,
    },
    excluded: {
      ...{ '.slipwayignore': 'dotfile', 'a.md': 'ignored', 'private/': 'ignored', '.other': 'dotfile' },
      ...{ '.env': 'secret', 'v/x.txt': 'ignored', 'node_modules/': 'dependencies', 'linked.txt': 'ignored' },
      'cafe\u0301/': 'ignored',
    },
    differences: [
      { ...links(NO_LINKS, ['w/y.txt']), excluded: { 'linked.txt': undefined } },
      {
        ways: ['tar'],
        because: 'is read as it arrives, and this one has its files in the order of their names',
        published: { '.note': undefined },
        excluded: { '.note': 'dotfile' },
        notes: ['.note: left out, because .slipwayignore comes after it. Put .slipwayignore first'],
      },
    ],
  },
  {
    what: 'names that are not UTF-8',
    isTop: true,
    files: { 'index.html': 'x' },
    latin1Files: ['sub/caf\xe9.html', 'sub/n\xfcll.html'],
    refused: /sub\/.+: the name is not UTF-8; rename it( \(and 1 more\)|\s+sub\/.+: the name is not UTF-8)/,
    differences: [
      {
        ways: ZIPS,
        because: 'of programs for Windows has such names, and says in no code page',
        refused: undefined,
        published: { 'sub/caf\xe9.html': 'x', 'sub/n\xfcll.html': 'x' },
        notes: ['The names in the archive are not UTF-8. They were read in the code page windows-1252.'],
      },
      {
        ways: ['drop'],
        because: 'has no names for them',
        refused: /sub\/…: the name is not UTF-8; rename it/,
      },
    ],
  },
  {
    what: 'control characters in names',
    isTop: true,
    files: { 'index.html': 'x', 'a\tb.txt': 'x' },
    refused: /must not contain control characters/,
  },
  {
    what: 'backslashes in names',
    isTop: true,
    files: { 'index.html': 'x', 'sub/a\\b.txt': 'x' },
    refused: /must not contain a backslash; separate folders with '\/'/,
  },
  {
    what: 'names of two Unicode forms',
    isTop: true,
    files: { 'index.html': 'x', 'caf\u00e9.html': 'c', 'cafe\u0301.html': 'd' },
    refused: /café\.html.* occurs 2 times|repeats .*café\.html/,
  },
  {
    what: 'a path of 500 characters beside a longer one that is left out',
    isTop: true,
    files: {
      ...{ 'index.html': 'x', [`${'12345678/'.repeat(55)}12345`]: 'x' },
      [`node_modules/${'12345678/'.repeat(55)}12345`]: 'x',
    },
    published: { [`node_modules/${'12345678/'.repeat(55)}12345`]: undefined },
    excluded: { 'node_modules/': 'dependencies' },
    differences: [
      {
        ways: CONTENTS,
        because: 'names only what is to be published',
        refused: /must have at most 500 characters, not 513/,
      },
    ],
  },
  {
    what: 'a path of 501 characters',
    isTop: true,
    files: { 'index.html': 'x', [`${'12345678/'.repeat(55)}123456`]: 'x' },
    refused: /must have at most 500 characters, not 501/,
  },
  {
    what: '10,000 files',
    isTop: true,
    isLong: true,
    files: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`${at % 100}/${at}.txt`, 'x'])),
    refused: /The limit is 1,000 per site/,
  },
  {
    what: 'a .slipwayignore of more than its limit',
    isTop: true,
    files: { 'index.html': 'x', '.slipwayignore': '#'.repeat(32_769) },
    refused: /\.slipwayignore is not a file in this folder of at most 32 kB/,
  },
  {
    what: 'a .slipwayignore in UTF-16',
    isTop: true,
    files: { 'index.html': 'x', 'a.md': 'x', '.slipwayignore': Buffer.from('\ufeff*.md\r\n', 'utf16le') },
    refused: /\.slipwayignore is not UTF-8; save it as UTF-8/,
  },
]

/** The paths of rows that share a folder begin with this. */
export function folderOf(row: OddFolder): string {
  return row.isTop ? '' : `${row.what.replaceAll(/[^a-z]+/gi, '-')}/`
}

/** What a way is expected to publish of the rows, whose folder is the same. */
export function expectation(rows: OddFolder[], way: Way) {
  const files = new Map<string, string | Buffer>()
  const excluded = new Map<string, SkipReason>()
  const notes: string[] = []
  let refused: RegExp | undefined
  for (const row of rows) {
    const folder = folderOf(row)
    const all = row.differences?.filter(({ ways }) => ways.includes(way)) ?? []
    refused ??= (all.find((one) => 'refused' in one) ?? row).refused
    const published = [row.files ?? {}, row.published ?? {}, ...all.map((one) => one.published ?? {})]
    for (const [path, content] of published.flatMap((some) => Object.entries(some)))
      if (content === undefined) files.delete(folder + path)
      else files.set(folder + path, content)
    const left = [row.excluded ?? {}, ...all.map((one) => one.excluded ?? {})]
    for (const [path, reason] of left.flatMap((some) => Object.entries(some)))
      if (reason === undefined) excluded.delete(folder + path)
      else excluded.set(folder + path, reason)
    const sentences = [...(row.notes ?? []), ...all.flatMap((one) => one.notes ?? [])]
    notes.push(...sentences.map((note) => note.replaceAll('{}', folder)))
  }
  return { files, excluded, notes, refused }
}

/** Writes the folder of these rows. */
export function writeFolder(top: string, rows: OddFolder[]): void {
  for (const row of rows) {
    const folder = join(top, folderOf(row))
    const at = (path: string, encoding: BufferEncoding = 'utf8'): Buffer => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, encoding)])
    }
    for (const path of row.latin1Files ?? []) writeFileSync(at(path, 'latin1'), 'x')
    for (const [path, content] of Object.entries(row.files ?? {})) writeFileSync(at(path), content)
    for (const path of row.folders ?? []) mkdirSync(join(folder, path), { recursive: true })
    for (const [path, target] of Object.entries(row.links ?? {})) symlinkSync(target, at(path))
    for (const [path, other] of Object.entries(row.hardLinks ?? {})) linkSync(join(folder, other), at(path))
    for (const path of row.pipes ?? []) execFileSync('mkfifo', [join(folder, path)])
    for (const path of row.sockets ?? []) bindSocket(join(folder, path))
  }
}

function bindSocket(path: string): void {
  const code = `import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])`
  execFileSync('python3', ['-c', code, path])
}
