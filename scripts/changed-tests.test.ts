import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { testsOf } from './changed-tests.ts'
import { root } from './root.mjs'

const TESTS = globSync('{scripts,test}/**/*.test.ts', { cwd: root })

const cases: { changed: string; reached: string[]; not: string[] }[] = [
  {
    changed: 'protocol/manifest/paths.ts',
    reached: ['test/protocol/folder.test.ts', 'test/api/publish.test.ts', 'test/cli/publish.test.ts'],
    not: ['test/dns/misbehaving.test.ts'],
  },
  {
    changed: 'server/commands/banner.ts',
    reached: ['test/operator/moderation.test.ts'],
    not: ['test/protocol/glob.test.ts', 'test/edge/ranges.test.ts'],
  },
  {
    changed: 'client/cli/feedback.ts',
    reached: ['test/cli/feedback.test.ts', 'test/journeys/client-package.test.ts'],
    not: ['test/api/publish.test.ts', 'test/edge/ranges.test.ts'],
  },
  {
    changed: 'test/tools/knot.ts',
    reached: ['test/dns/resolver.test.ts'],
    not: ['test/api/publish.test.ts'],
  },
  {
    changed: 'dashboard/sign-in/code-step.tsx',
    reached: ['test/dashboard/sign-in.test.ts'],
    not: ['test/api/sign-in.test.ts'],
  },
  { changed: 'docs/settings.md', reached: ['test/docs.test.ts'], not: ['test/api/publish.test.ts'] },
  {
    changed: 'test/edge/ranges.test.ts',
    reached: ['test/edge/ranges.test.ts'],
    not: ['test/edge/edge.test.ts'],
  },
]

for (const { changed, reached, not } of cases)
  test(`--changed runs the tests that ${changed} can reach, and no others`, () => {
    const found = testsOf([changed], TESTS)
    assert.deepEqual(
      [...reached, ...not].filter((path) => found.includes(path)),
      reached,
    )
  })

test('--changed runs every test after a change of the packages', () => {
  assert.deepEqual(testsOf(['package-lock.json'], TESTS), TESTS)
})

test('--changed runs the tests first that guard a changed file, then those that import it', () => {
  const [guard, importer] = ['test/api/trash.test.ts', 'test/protocol/folder.test.ts']
  const guards = [{ file: 'protocol/manifest/folder.ts', tests: [guard] }]
  const found = testsOf(['protocol/manifest/folder.ts'], TESTS, guards)
  assert.deepEqual(found.slice(0, 2), [guard, importer])
  assert.ok(found.length > 2)
})
