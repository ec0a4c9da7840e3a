/** Of the environment, what checks need: the account, the places of programs, and what `npm test` and the tests document. */
const KEPT =
  /^(PATH|HOME|USER|LOGNAME|TERM|NO_COLOR|TMPDIR|CI|SEED|AGAINST|BUILT_SITES|UV_THREADPOOL_SIZE|AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY)|(TEST|npm)_\w+)$/

/** By which npm reaches a registry; it takes them as its own settings, too. */
const PROXIES = { https_proxy: 'npm_config_https_proxy', http_proxy: 'npm_config_proxy' }

/**
 * Makes this process and those that it starts independent of the user and the machine: of settings of Slipway, Git, AWS
 * and PostgreSQL in the environment, of its language and time zone, of a forge, of proxies and of the umask. NODE_OPTIONS
 * becomes TEST_NODE_OPTIONS.
 */
export function isolateEnvironment(): void {
  const { env } = process
  for (const [proxy, setting] of Object.entries(PROXIES)) {
    const url = env[proxy] ?? env[proxy.toUpperCase()]
    if (url) env[setting] ??= url
  }
  for (const name of Object.keys(env)) if (!KEPT.test(name)) delete env[name]
  Object.assign(env, { LANG: 'C.UTF-8', TZ: 'UTC' })
  if (env.TEST_NODE_OPTIONS) env.NODE_OPTIONS = env.TEST_NODE_OPTIONS
  process.umask(0o022)
}
