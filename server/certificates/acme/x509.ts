/** Loads the X.509 library on first use: it costs 24 MB. */
export async function x509(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}
