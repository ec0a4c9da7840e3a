// What each encrypted key is bound to, so that one row's key cannot stand in for another's (`SecretBox`).

export function certificateKeyContext(name: string): string {
  return `certificate ${name}`
}

export function orderKeyContext(name: string): string {
  return `order ${name}`
}

export function accountKeyContext(directory: string): string {
  return `acme account ${directory}`
}
