import { spawnSync } from 'node:child_process'
import { print } from './print.mjs'
import { program } from './program.mjs'
import { run } from './spawn.mjs'

/** Whether packages may be installed without asking: only by root on Debian. */
export function mayInstallPackages() {
  return process.getuid?.() === 0 && program('apt-get') !== undefined
}

/**
 * Prints the packages with their sizes and installs them; false when apt-get failed, which it explains itself.
 *
 * @param {string[]} packages
 */
export async function installPackages(packages) {
  const isUpdated = await aptGet(['update'])
  print([`Installing ${packages.join(' ')}.`, describeSizes(packages)].filter(Boolean).join('\n'))
  const installed = isUpdated && (await aptGet(['install', '--no-install-recommends', ...packages]))
  if (!installed) print(`apt-get could not install ${packages.join(' ')}; its reason is above.`)
  return installed
}

/**
 * What apt-get says of the sizes of packages that are not installed, such as "Need to get 1,234 kB of archives."; empty
 * when it does not know one of them yet.
 *
 * @param {string[]} packages
 */
export function describeSizes(packages) {
  const { stdout } = spawnSync(
    'apt-get',
    ['install', '--no-install-recommends', '--assume-no', ...packages],
    {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
    },
  )
  return (stdout ?? '')
    .split('\n')
    .filter((line) => /^(Need to get|After this operation)/.test(line))
    .join(' ')
}

/** @param {string[]} args */
async function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const options = ['-y', '-q=2', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0']
  const { code } = await run('apt-get', [...options, ...args], { env, stdio: ['ignore', 'ignore', 2] })
  return code === 0
}
