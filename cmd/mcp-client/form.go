package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/mcp"
)

// fill asks for the values of a form until they fit it, and for leave to send them.
func (q *person) fill(ctx context.Context, form *mcp.FormSchema) (json.RawMessage, error) {
	if len(form.Properties) == 0 {
		_, err := q.choose(ctx, "Accept? y yes, d no, c cancel: ", "y")
		return json.RawMessage("{}"), err
	}
	q.say("Enter a value for each field; an empty line takes the default, or leaves out what is optional. d declines, c cancels; in quotes they are values.")
	for {
		content := map[string]json.RawMessage{}
		for _, f := range form.Properties {
			value, err := q.field(ctx, f, slices.Contains(form.Required, f.Name))
			if err != nil {
				return nil, err
			}
			if value != nil {
				content[f.Name] = value
			}
		}
		text, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		q.say("This will be sent: %s", text)
		letter, err := q.choose(ctx, "Send it? y yes, r again, d decline, c cancel: ", "yr")
		if err != nil || letter == 'y' {
			return text, err
		}
	}
}

// field asks for one value; nil leaves it out. What the server says is indented.
func (q *person) field(ctx context.Context, f mcp.Property, required bool) (json.RawMessage, error) {
	s := f.Schema
	q.say("  %s (%s)", cmp.Or(s.Title, f.Name), kindOfField(s, required))
	if s.Description != "" {
		q.say("    %s", s.Description)
	}
	choices := choicesOf(s)
	for i, c := range choices {
		q.say("    %d. %s", i+1, c.label())
	}
	for {
		line, err := q.ask(ctx, "> ")
		switch {
		case err != nil:
			return nil, err
		case line == "d":
			return nil, errDeclined
		case line == "c":
			return nil, errDismissed
		case line == "" && s.Default != nil:
			return s.Default, nil
		case line == "" && !required:
			return nil, nil
		case line == "":
			q.say("    a value is required")
			continue
		}
		value, err := entered(s, choices, line)
		if err == nil {
			err = checkField(f, value)
		}
		if err == nil {
			return value, nil
		}
		q.say("    %v", err)
	}
}

// checkField says why a value is not one for a field.
func checkField(f mcp.Property, value json.RawMessage) error {
	content, err := json.Marshal(map[string]json.RawMessage{f.Name: value})
	if err != nil {
		return err
	}
	return (&mcp.FormSchema{Properties: mcp.Properties{f}}).Check(content)
}

// entered makes a JSON value of what was typed.
func entered(s *mcp.PrimitiveSchema, choices []choice, line string) (json.RawMessage, error) {
	switch s.Type {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, fmt.Errorf("want y or n, not %q", line)
	case "number", "integer":
		if syntax([]byte(line)) != nil || kindOf([]byte(line)) != "number" {
			return nil, fmt.Errorf("want a number, not %q", line)
		}
		return json.RawMessage(line), nil
	case "array":
		values := []string{}
		for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ' ' }) {
			value, err := chosen(choices, part)
			if err != nil && line != "[]" {
				return nil, err
			}
			if err == nil && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		return quote(values), nil
	}
	var text string
	if strings.HasPrefix(line, `"`) && json.Unmarshal([]byte(line), &text) == nil {
		line = text
	} else if choices != nil {
		value, err := chosen(choices, line)
		return quote(value), err
	}
	return quote(line), nil
}

// quote is text, or a list of texts, as JSON.
func quote[T string | []string](v T) json.RawMessage {
	text, _ := json.Marshal(v) // strings can always be encoded
	return text
}

// A choice is a value that can be chosen.
type choice struct{ value, title string }

func (c choice) label() string {
	if c.title == "" || c.title == c.value {
		return c.value
	}
	return c.title + " (" + c.value + ")"
}

// chosen is the value of a choice that was named by its number, or itself.
func chosen(choices []choice, text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && 1 <= n && n <= len(choices) {
		return choices[n-1].value, nil
	}
	if slices.ContainsFunc(choices, func(c choice) bool { return c.value == text }) {
		return text, nil
	}
	return "", fmt.Errorf("want a number from 1 to %d, not %q", len(choices), text)
}

func choicesOf(s *mcp.PrimitiveSchema) (list []choice) {
	enum, titled := s.Enum, s.OneOf
	if s.Items != nil {
		enum, titled = s.Items.Enum, s.Items.AnyOf
	}
	for i, v := range enum {
		c := choice{value: v}
		if i < len(s.EnumNames) {
			c.title = s.EnumNames[i]
		}
		list = append(list, c)
	}
	for _, o := range titled {
		list = append(list, choice{o.Const, o.Title})
	}
	return list
}

// kindOfField tells what a field wants.
func kindOfField(s *mcp.PrimitiveSchema, required bool) string {
	words := []string{s.Type}
	switch {
	case s.Type == "array":
		words = []string{"numbers of some, with commas"}
	case len(choicesOf(s)) > 0:
		words = []string{"number of one"}
	case s.Type == "boolean":
		words = []string{"y or n"}
	}
	switch s.Format {
	case "":
	case "date":
		words = append(words, "date such as 2026-07-28")
	case "date-time":
		words = append(words, "date and time such as 2026-07-28T09:30:00Z")
	default:
		words = append(words, s.Format)
	}
	add := func(label string, low, high string) {
		switch {
		case low != "" && high != "":
			words = append(words, low+" to "+high+label)
		case low != "":
			words = append(words, "at least "+low+label)
		case high != "":
			words = append(words, "at most "+high+label)
		}
	}
	add("", number(s.Minimum), number(s.Maximum))
	add(" characters", number(s.MinLength), number(s.MaxLength))
	add(" of them", number(s.MinItems), number(s.MaxItems))
	switch {
	case s.Default != nil:
		words = append(words, "default "+string(s.Default))
	case required:
		words = append(words, "required")
	default:
		words = append(words, "optional")
	}
	return strings.Join(words, ", ")
}

func number[T int | float64](n *T) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
