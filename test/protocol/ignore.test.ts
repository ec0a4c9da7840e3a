import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ignoreRules } from '../../protocol/ignore/default-rules.ts'
import { Exclusions } from '../../protocol/ignore/exclusions.ts'
import { IgnoreRules } from '../../protocol/ignore/ignore-rules.ts'

// biome-ignore format: several to a line
const PATTERNS = [
  '*.log', '/top.txt', 'build/', 'build', 'docs/*.txt', 'docs/**/deep.txt', '**/any.txt', 'docs/**',
  'a/**/b', '*.log\n!keep.log', 'docs/*\n!docs/readme.md', '# a comment\n\\#file', '\\!bang',
  'trailing   ', 'kept\\ ', 'question?.txt', '[abc].txt', '[!abc].txt', '[a-c].txt', '[]x].txt',
  '[a\\]].txt', 'plus+(1).txt', 'dollar$^.txt', '/docs', '/docs/', 'docs/sub/', '*', '*\n!*/\n!*.md', '**',
  'br[oken', '!', '/', 'x\\*y', '*a*b*', 'üñí*',
]

// biome-ignore format: several to a line
const PATHS = [
  'a.log', 'keep.log', 'sub/keep.log', 'top.txt', 'sub/top.txt', 'build/x', 'sub/build/x', 'tools/build',
  'docs/x.txt', 'docs/sub/x.txt', 'docs/deep.txt', 'docs/a/b/deep.txt', 'docs/readme.md', 'any.txt',
  'q/any.txt', 'a/b', 'a/x/b', 'a/x/y/b', 'foo1/bar', 'foo/bar', 'foo/x/bar', '#file', '!bang', 'trailing',
  'kept ', 'question1.txt', 'question.txt', 'a.txt', 'd.txt', '].txt', 'x.txt', 'plus+(1).txt',
  'dollar$^.txt', 'br[oken', 'x*y', 'xzy', 'xaxbx', 'readme.md', 'üñí.txt',
]

describe('patterns', () => {
  const repository = mkdtempSync(join(tmpdir(), 'slipway-git-'))
  execFileSync('git', ['init', '-q', repository])
  for (const path of PATHS) {
    mkdirSync(dirname(join(repository, path)), { recursive: true })
    writeFileSync(join(repository, path), '')
  }
  after(() => rmSync(repository, { recursive: true, force: true }))

  for (const pattern of PATTERNS) {
    it(`${JSON.stringify(pattern)} excludes what git would ignore`, () => {
      writeFileSync(join(repository, 'rules'), `${pattern}\nrules\n`)
      const rules = IgnoreRules.parse(`${pattern}\nrules\n`)
      const kept = PATHS.filter((path) => !isIgnored(rules, path))
      assert.deepEqual(kept.sort(), keptByGit(repository))
    })
  }
})

function keptByGit(repository: string): string[] {
  const found = execFileSync('git', ['ls-files', '-o', '-z', '-X', 'rules'], { cwd: repository })
  return found.toString().split('\0').filter(Boolean).sort()
}

describe('default exclusions', () => {
  const rules = ignoreRules('')
  // biome-ignore format: several to a line
  const published = [
    'index.html', '_headers', '_redirects', '.well-known/security.txt', 'sub/.well-known/x', 'cert.crt',
    'environment', 'node_modules.html',
  ]
  // biome-ignore format: several to a line
  const leftOut = [
    '.git', '.env', '.env.local', 'sub/.ENV', '.DS_Store', 'sub/.DS_Store', 'Thumbs.db', 'THUMBS.DB',
    'node_modules/x/index.js', 'deep/node_modules/x', 'index.html~', '.index.html.swp', '#draft#',
    '.npmrc', '.ssh/id_rsa', 'keys/id_rsa', 'server.pem', 'private.key', '.slipway/site.json',
    '.slipwayignore', '.well-known/.DS_Store', '__MACOSX/index.html',
  ]

  it('leave out what is private, temporary or of a tool, and publish everything else', () => {
    for (const path of published) assert.equal(isIgnored(rules, path), false, path)
    for (const path of leftOut) assert.equal(isIgnored(rules, path), true, path)
  })

  it('.slipwayignore excludes more', () => {
    assert.equal(isIgnored(ignoreRules('drafts/'), 'drafts/one.html'), true)
  })
  it('.slipwayignore can include what is excluded by default', () => {
    assert.equal(isIgnored(ignoreRules('!.nojekyll\n!.note'), '.note'), false)
    assert.equal(isIgnored(ignoreRules('!node_modules'), 'node_modules/x/index.js'), false)
  })
  it('.slipwayignore cannot include secrets, which only the publisher can', () => {
    assert.equal(isIgnored(ignoreRules('!talk.key'), 'talk.key'), true)
    assert.equal(isIgnored(ignoreRules('', { secrets: true }), 'talk.key'), false)
  })
  it('.slipwayignore excludes names in both Unicode forms, whichever its own is', () => {
    for (const [rule, path] of [
      ['caf\u00e9', 'cafe\u0301'],
      ['a/cafe\u0301.html', 'a/caf\u00e9.html'],
    ] as const)
      assert.equal(isIgnored(ignoreRules(rule), path), true, path)
  })
  it('.slipwayignore in another encoding, which would exclude nothing, is refused', () => {
    const encoded = [Buffer.from('\ufeff*.md', 'utf16le'), Buffer.from('caf\xe9/', 'latin1')]
    for (const bytes of encoded) assert.throws(() => ignoreRules(bytes.toString()), /is not UTF-8/)
    assert.equal(isIgnored(ignoreRules(`${Buffer.from('# caf\xe9\n', 'latin1')}*.md`), 'a.md'), true)
  })
  it('the folders .slipway and .git are always excluded', () => {
    for (const path of ['.git/config', '.slipway/site.json', '.slipwayignore']) {
      assert.equal(isIgnored(ignoreRules('!.*'), path), true, path)
    }
  })
})

function isIgnored(rules: IgnoreRules, path: string): boolean {
  return new Exclusions(rules).find(path) !== undefined
}
