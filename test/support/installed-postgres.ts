// The server of a part that names a package's programs: its tests find that one in place of the run's.
import type { TestProject } from 'vitest/node'
import { PARTS } from '../parts'
import { installed, provide } from './postgres'

export default function setup(project: TestProject): Promise<() => Promise<void>> {
  const part = PARTS.find(({ name }) => name === project.name)
  return provide(project, installed(part?.postgres?.folder))
}
