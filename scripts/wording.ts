import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.mjs'

// Refuses idioms and British spellings in texts, comments and names: `node scripts/wording.ts`. Idioms have to be read
// twice, most of all by readers whose first language is not English.

interface Rule {
  /** Alternatives of words; a space stands for the white space and the comment marks between two words. */
  idioms: readonly string[]
  /** What to write in their place. */
  use: string
}

const RULES: readonly Rule[] = [
  {
    idioms: ['whoever', 'nobody', 'somebody', 'everybody', 'anybody'],
    use: 'the role: owner, administrator, visitor, anyone with the link, no one',
  },
  { idioms: ['told', 'said'], use: 'the action: shows, reports, states, requires, declares' },
  { idioms: ['looks(?! up)'], use: 'is, resembles, or an example' },
  { idioms: ['for good'], use: 'permanently, or never expires' },
  { idioms: ['at once'], use: 'immediately, at the same time, or all' },
  { idioms: ['by itself', 'by themselves'], use: 'automatically, alone, or separately' },
  { idioms: ['go on', 'goes on', 'going on'], use: 'continue, resume, or expire' },
  { idioms: ['(?:is|are|was|were) gone'], use: 'does not exist, has expired, was deleted, is offline' },
  { idioms: ['(?:an|the) own'], use: 'its own, or whose it is: of the service, of the account' },
  { idioms: ['meanwhile'], use: 'since then, or at the same time' },
  { idioms: ['mailed codes?', 'mail (?:a|me a) code', 'mailed to'], use: 'email, emailed, sent by email' },
  {
    idioms: [
      String.raw`(?:behavi|col|fav|neighb)our\w*`,
      '(?:author|initial|maxim|minim|normal|optim|organ|recogn|serial|summar)is(?:e[ds]?|ing|ation)',
      'misspelt',
    ],
    use: 'the spelling of the United States',
  },
]

/** White space between two words, with the mark of a comment that continues on the next line. */
const SEPARATOR = String.raw`\s{1,60}(?:(?:\*|//|#|>) )?`

const PATTERNS = RULES.map(({ idioms, use }) => ({
  pattern: new RegExp(`\\b(?:${idioms.map((words) => words.replaceAll(' ', SEPARATOR)).join('|')})\\b`, 'gi'),
  use,
}))

const FILES = [
  '{bench,client,dashboard,deploy,docs,packages,protocol,scripts,server,test}/**/*.{css,html,js,md,mjs,sh,ts,tsx,yaml}',
  '*.md',
]

const NOT_CHECKED = [
  '**/node_modules/**',
  '**/dist/**',
  // They quote the idioms.
  'scripts/wording*.ts',
]

/** A sentence for each idiom of a file: its place, and what to write instead. */
export function findIdioms(file: string, text: string): string[] {
  return PATTERNS.flatMap(({ pattern, use }) =>
    [...text.matchAll(pattern)].map(({ 0: idiom, index }) => {
      const line = text.slice(0, index).split('\n').length
      return `${file}:${line} "${idiom.replaceAll(/\s+/g, ' ')}": write ${use}`
    }),
  )
}

function checkAll(): string[] {
  const files = globSync(FILES, { cwd: root, exclude: NOT_CHECKED })
  return files.flatMap((file) => findIdioms(file, readFileSync(join(root, file), 'utf8')))
}

if (import.meta.main) {
  const problems = checkAll()
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
