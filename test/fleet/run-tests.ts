import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../../scripts/root.mjs'
import type { Engines } from '../support/engines.ts'
import { startCeph } from '../tools/ceph.ts'
import { atExit } from '../tools/exit.ts'
import { startPostgres } from '../tools/postgres.ts'

/** What a service promises on all engines. */
const FOLDERS = ['api', 'edge', 'domains', 'visits', 'certificates'].map((name) => `test/${name}/`)

/** Tests that are about SQLite or the data folder, by the reason. */
const EMBEDDED_ONLY: Record<string, readonly string[]> = {
  'fills the disk of the blobs': [
    'with no more than the reserve free, only publishing is refused',
    'on a full disk sites can be deleted, and users can sign in',
    'uploads at the same time are refused before they use the reserve',
    'a full disk refuses uploads, keeps whole files, and serves sites',
    'say at /status what works, to people',
  ],
  'counts open files of the blob folder': [
    'pipelined requests on one connection open one large file at a time',
    ...['GET files/b.bin', 'GET archive', 'HEAD files/b.bin', 'HEAD archive'].map(
      (request) => `at any stage of ${request} leaves no file open`,
    ),
  ],
  'simulates months with a CA': [
    'no certificate of 160 hours expires while the CA is available, and no limit is exceeded',
  ],
  'reads the file of the database': ['a deleted salt is also erased from the database file'],
  'starts slipway-server as a program': [
    'workers recognize the same visitor, and their counts survive a restart',
  ],
  'counts statements of SQLite; test/database-faults has it for PostgreSQL': [
    'are one statement each, and two for a domain that redirects to another one',
  ],
}

/**
 * Runs tests on PostgreSQL and S3: those above, or files with one of these parts in their paths. Returns whether all
 * passed.
 */
export async function runTestsOnFleet(parts: readonly string[]): Promise<boolean> {
  await using postgres = await startPostgres()
  await using ceph = await startCeph()
  const titles = Object.values(EMBEDDED_ONLY).flat()
  console.log(`not run, because they are about the embedded engines: ${titles.length} tests`)
  return await runTests(parts.length > 0 ? parts : FOLDERS, 'fleet', {
    TEST_DATABASE_URL: postgres.url(),
    TEST_BLOBS_URL: ceph.storageUrl(),
    TEST_NODE_OPTIONS: titles
      .map((title) => `--test-skip-pattern=${title.replaceAll(/\W/g, '.')}$`)
      .join(' '),
  })
}

/** Runs tests of the API, or these, with each work of `Store.write` executed twice. */
export function runTestsRepeatingWrites(parts: readonly string[]): Promise<boolean> {
  return runTests(parts.length > 0 ? parts : ['test/api/'], 'repeated-writes')
}

async function runTests(
  parts: readonly string[],
  engines: Engines,
  environment: Record<string, string> = {},
): Promise<boolean> {
  const child = spawn(process.execPath, [join(root, 'scripts/run-checks.ts'), ...parts], {
    cwd: root,
    env: { ...process.env, ...environment, TEST_ENGINES: engines },
    stdio: 'inherit',
  })
  const cancelEnd = atExit(() => child.kill('SIGTERM'))
  const [code] = await once(child, 'exit')
  cancelEnd()
  return code === 0
}
