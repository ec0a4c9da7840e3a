import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { npxCommand } from '../../protocol/client-package.ts'
import { findNearest } from '../../protocol/nearest.ts'

/** Settings of the environment, read once. */
export interface Settings {
  /** `SLIPWAY_URL` */
  server: string | undefined
  /** `SLIPWAY_KEY`, without the white space around it that a file or a form of secrets may add. */
  key: string | undefined
  /** `SLIPWAY_KEY` is set to nothing, as from a secret that does not exist. */
  keyIsEmpty: boolean
  /** `SLIPWAY_SITE`: the site of a command that names none. Empty, it is refused, as from a variable that is not set. */
  site: string | undefined
  /** `SLIPWAY_SITE_PASSWORD`, for `publish --password`, without a final line break, which no form can send. */
  sitePassword: string | undefined
  /** Where `slipway login` stores keys. */
  keysFile: string
  home: string
  color: boolean
  /** Whether a terminal can replace a line, which one of `TERM=dumb` cannot. */
  redraws: boolean
  /** The server that this program was downloaded from. */
  packageServer: string | undefined
  /** Whether npx runs the program, so that the command names that server. */
  isNpx: boolean
  /** How to call the program: `slipway`, or `npx {base_url}/cli.tgz` when npm runs it. */
  program: string
}

/**
 * Reads the settings of the command line. Other empty variables count as absent, and so do relative paths of `HOME` and
 * `XDG_CONFIG_HOME` (XDG Base Directory Specification): the files of the working folder may be those of a stranger.
 */
export function readSettings(env: Record<string, string | undefined>, packageServer?: string): Settings {
  const known = [env.HOME, findFolder(homedir), findFolder(() => userInfo().homedir)]
  const home = known.find(isAbsolutePath) ?? NO_HOME
  const configFolder = [env.XDG_CONFIG_HOME].find(isAbsolutePath) ?? join(home, '.config')
  const key = env.SLIPWAY_KEY?.trim()
  return Object.freeze({
    server: env.SLIPWAY_URL || undefined,
    key: key || undefined,
    keyIsEmpty: key === '',
    site: env.SLIPWAY_SITE,
    sitePassword: env.SLIPWAY_SITE_PASSWORD?.replace(/(\r\n|\r|\n)$/, '') || undefined,
    keysFile: join(configFolder, 'slipway', 'config.json'),
    home,
    color: !env.NO_COLOR && env.TERM !== 'dumb',
    redraws: env.TERM !== 'dumb',
    packageServer,
    isNpx: env.npm_command === 'exec',
    program: env.npm_command && packageServer !== undefined ? npxCommand(packageServer) : 'slipway',
  })
}

/** The home of a user without one, as in the list of users of Debian. */
const NO_HOME = resolve('/nonexistent')

/** Undefined for a user that the system does not know, as in a container. */
function findFolder(find: () => string): string | undefined {
  try {
    return find()
  } catch {
    return undefined
  }
}

const PREFIX = 'SLIPWAY_'

/** Those of `publish.sh` included. */
const NAMES = ['URL', 'KEY', 'SITE', 'SITE_PASSWORD', 'ID_TOKEN', 'CLAIM_TOKEN']

/** Names that other programs of this kind have for them. */
const OTHER_NAMES: Record<string, string> = { API_KEY: 'KEY', TOKEN: 'KEY', SERVER: 'URL' }

/** Variables that are no settings but look like one of this command, with that one: without a key, a site has no owner. */
export function findMisspelled(env: Record<string, string | undefined>): [name: string, meant: string][] {
  return Object.keys(env).flatMap((name) => {
    const given = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : ''
    if (given === '' || NAMES.includes(given)) return []
    const meant = Object.hasOwn(OTHER_NAMES, given) ? OTHER_NAMES[given] : findNearest(given, NAMES)
    return meant === undefined ? [] : [[name, PREFIX + meant] as [string, string]]
  })
}

function isAbsolutePath(path: string | undefined): path is string {
  return path !== undefined && isAbsolute(path)
}
