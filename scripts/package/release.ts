import { execFileSync } from 'node:child_process'
import { readJson, root } from '../root.mjs'

export interface Release {
  /** As Debian compares it: that of package.json, followed by the time of the commit and its hash unless the commit has its tag. */
  version: string
  /** Of the commit, in seconds since 1970: the time of all files. */
  epoch: number
}

/** The release that the checked-out commit is; SOURCE_DATE_EPOCH replaces its time. */
export function readRelease(environment: NodeJS.ProcessEnv): Release {
  const { version } = readJson('server/package.json') as { version: string }
  const [time, commit] = git('log', '-1', '--format=%ct %h', '--abbrev=10').split(' ')
  const epoch = Number(environment.SOURCE_DATE_EPOCH ?? time)
  const isTagged = git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
  if (isTagged && !isChanged) return { version, epoch }
  const date = new Date(Number(time) * 1000).toISOString().replace(/\D/g, '').slice(0, 14)
  return { version: `${version}+${date}.${commit}${isChanged ? '.changed' : ''}`, epoch }
}

/** The files of these folders that git knows. */
export function listTracked(...paths: string[]): string[] {
  return git('ls-files', '-z', '--', ...paths)
    .split('\0')
    .filter(Boolean)
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}
