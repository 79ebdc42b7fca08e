package baseenv

import (
	"slices"
	"strings"
)

// Update returns what a program's UpdateEnv makes of the variables that commands get. A
// variable that it adds is not withheld, and its value is masked if it looks like a
// secret.
func (a *Applied) Update(update func(env []string) ([]string, error)) (*Applied, error) {
	env, err := update(slices.Clone(a.Env))
	if err != nil {
		return nil, err
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.ContainsRune(kv, 0) })
	added := slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return slices.Contains(a.Env, kv) })
	next := &Applied{All: a.All, Env: env, Secrets: slices.Concat(a.Secrets, Secrets(added, env))}
	for _, name := range a.Withheld {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			next.Withheld = append(next.Withheld, name)
		}
	}
	return next, nil
}
