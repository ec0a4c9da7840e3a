import { execFileSync } from 'node:child_process'
import { readJson, root } from '../root.mjs'

export interface Release {
  /**
   * That of package.json and, unless the commit has its tag, its time, the number of commits up to it, because several
   * can have the same second, and its hash. Debian compares versions in this order.
   */
  version: string
  /** Of the commit, in seconds since 1970: the time of all files. */
  epoch: number
}

/** The release that the checked-out commit of a clone is; SOURCE_DATE_EPOCH replaces its time. */
export function readRelease(environment: NodeJS.ProcessEnv, clone = root): Release {
  const git = (...args: string[]) => runGit(clone, args)
  const { version } = readJson('server/package.json') as { version: string }
  const [time, commit] = git('log', '-1', '--format=%ct %h', '--abbrev=10').split(' ')
  const epoch = Number(environment.SOURCE_DATE_EPOCH ?? time)
  const isTagged = git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
  if (isTagged && !isChanged) return { version, epoch }
  const date = new Date(Number(time) * 1000).toISOString().replace(/\D/g, '').slice(0, 14)
  const number = git('rev-list', '--count', 'HEAD')
  return { version: `${version}+${date}.${number}.${commit}${isChanged ? '.changed' : ''}`, epoch }
}

/** The files of these folders that git knows. */
export function listTracked(...paths: string[]): string[] {
  return runGit(root, ['ls-files', '-z', '--', ...paths])
    .split('\0')
    .filter(Boolean)
}

function runGit(clone: string, args: readonly string[]): string {
  return execFileSync('git', args, { cwd: clone, encoding: 'utf8' }).trim()
}
