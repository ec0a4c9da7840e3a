import { X509Certificate } from 'node:crypto'
import { Resolver } from 'node:dns'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'

/** One row of the table of settings. `read` turns text into a value or throws what is allowed, in words. */
export interface Setting<T> {
  name: string
  fallback: T
  /** What the list of settings says in place of a fallback. */
  without?: string
  read(text: string): T
  secret?: true
  means: string
}

export function text(name: string, fallback: string, means: string): Setting<string> {
  return { name, fallback, means, read: (given) => given }
}

export function whole(
  name: string,
  fallback: number,
  [least, most]: [number, number],
  means: string,
): Setting<number> {
  return {
    name,
    fallback,
    means,
    read(given) {
      const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
      if (!(value >= least && value <= most))
        throw new Error(`it must be a whole number from ${least} to ${most}`)
      return value
    },
  }
}

/** A setting of text that is empty unless it is given. */
function words(name: string, means: string, read: (given: string) => string): Setting<string> {
  return { name, fallback: '', means, read }
}

/** A setting that is undefined unless it is given. */
export function optional<T>(
  { fallback: _, ...setting }: Setting<T>,
  without: string,
): Setting<T | undefined> {
  return { ...setting, fallback: undefined, without }
}

/** Addresses of DNS servers with their ports, as `dns.Resolver.setServers` takes them; none for those of the system. */
export function dnsServers(name: string, means: string): Setting<readonly string[]> {
  return {
    name,
    fallback: [],
    means,
    read(given) {
      const servers = given.split(',').map((one) => one.trim())
      const resolver = new Resolver()
      try {
        if (servers.some((server) => /:0+$/.test(server))) throw new Error('nobody listens there')
        resolver.setServers(servers)
      } catch {
        throw new Error(
          'it must be addresses with or without a port: 192.0.2.1,127.0.0.1:5353,[2001:db8::1]:53',
        )
      }
      return servers
    },
  }
}

export function mailAddress(name: string, means: string): Setting<string> {
  return words(name, means, (given) => {
    if (!/^[^\s<>@,]+@[^\s<>@,]+$/.test(given)) throw new Error('it must be a mail address')
    return given
  })
}

/** The address of a service as a whole; without the slash at its end. */
export function origin(name: string, means: string): Setting<string> {
  const { read, ...setting } = address(name, means, ['http:', 'https:'])
  return {
    ...setting,
    read(given) {
      const url = new URL(read(given))
      if (url.href !== `${url.origin}/`) throw new Error('it must not have a path, a query, a # or a user')
      return given.replace(/\/$/, '')
    },
  }
}

export function sender(name: string, means: string): Setting<string> {
  return words(name, means, (given) => {
    if (!/^(?:[^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(given))
      throw new Error('it must be an address, or a name and an address: Slipway <slipway@example.org>')
    return given
  })
}

export function address(name: string, means: string, schemes: string[], fallback = ''): Setting<string> {
  return {
    name,
    fallback,
    means,
    read(given) {
      const url = URL.parse(given)
      if (!url || !schemes.includes(url.protocol) || url.hostname === '') {
        throw new Error(
          `it must be an address that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`,
        )
      }
      return given
    },
  }
}

export function hostName(name: string, fallback: string, means: string): Setting<string> {
  return {
    name,
    fallback,
    means,
    read(given) {
      const host = given.toLowerCase()
      if (
        host.length > 190 ||
        !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(host)
      ) {
        throw new Error('it must be a host name, without a scheme or a port')
      }
      return host
    },
  }
}

export function secret(name: string, means: string): Setting<string> {
  return {
    name,
    fallback: '',
    means,
    secret: true,
    read(given) {
      if (given.length < 32) throw new Error('it must have at least 32 characters')
      return given
    },
  }
}

export function oneOf<T extends string>(
  name: string,
  fallback: NoInfer<T>,
  allowed: readonly T[],
  means: string,
): Setting<T> {
  return {
    name,
    fallback,
    means,
    read(given) {
      const value = allowed.find((one) => one === given)
      if (value === undefined) throw new Error(`it must be one of ${allowed.join(', ')}`)
      return value
    },
  }
}

/** A file that can be read, by its path. */
export function file(name: string, means: string): Setting<string> {
  return words(name, means, (given) => {
    if (!isFile(given, constants.R_OK)) throw new Error('it must be a file that can be read')
    return given
  })
}

/** A file with a certificate in PEM, by its path. */
export function certificateFile(name: string, means: string): Setting<string> {
  const setting = file(name, means)
  return {
    ...setting,
    read(given) {
      const path = setting.read(given)
      try {
        new X509Certificate(readFileSync(path))
      } catch {
        throw new Error('it must be a file with a certificate in PEM')
      }
      return path
    },
  }
}

/** A file that can be run, by its whole path. */
export function program(name: string, means: string): Setting<string> {
  return words(name, means, (given) => {
    if (!isAbsolute(given) || !isFile(given, constants.X_OK))
      throw new Error('it must be the whole path of a program that can be run')
    return given
  })
}

export function base64url(name: string, means: string): Setting<string> {
  return {
    name,
    fallback: '',
    means,
    secret: true,
    read(given) {
      if (!/^[\w-]{16,}={0,2}$/.test(given)) throw new Error('it must be a key in base64url')
      return given
    },
  }
}

function isFile(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
